"""Says in plain words, and at the place of the cause, why tomli refuses a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .nodes import Entry, Mapping, Problem, Sequence, Span

if TYPE_CHECKING:
    from .toml import Attempt
    from .toml_scan import Statement, TomlScanner

_WORD = re.compile(r"[^\s,=\[\]{}#]+")
_STRING_FAULT = re.compile(r"Unterminated string|Expected [\"']+'+|Expected \"'''|Illegal character '\\n'|Illegal character '\\r'")
_ILLEGAL = re.compile(r"(?:Found invalid|Illegal) character ('.*')")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "nothing at all: TOML has no null", "null": "nothing at all"}


def explain(failed: Attempt, before: TomlScanner, max_depth: int) -> Problem:
    """The problem of a failed attempt; `before` has read the statements in front of the failed one."""
    text, offset, message = failed.scanner.text, failed.offset, failed.message
    if failed.stop is not None and failed.stop.deep:
        return Problem("depth", f"the nesting is deeper than {max_depth} levels", Span(offset, offset + 1))
    if message.startswith(("Cannot ", "Duplicate ")):
        return _taken(failed, before)
    if failed.stop is not None and text[failed.stop.offset : failed.stop.offset + 1] in ('"', "'") and _is_open(message):
        start = failed.stop.offset
        end = _line_end(text, start)
        return Problem("syntax", "this string is never closed", Span(start, end), f"add the closing {text[start]}")
    illegal = _ILLEGAL.match(message)
    if illegal is not None:
        shown = f"U+{ord(text[offset]):04X}" if offset < len(text) else illegal[1]
        return Problem("control", f"the control character {shown}; TOML refuses it", Span(offset, offset + 1))
    if message.startswith("Unclosed"):
        return _unclosed(failed)
    return _syntax(text, offset, message)


def _is_open(message: str) -> bool:
    return bool(_STRING_FAULT.match(message)) or message.startswith('Expected "') or message.startswith("Expected '\"")


def _taken(failed: Attempt, before: TomlScanner) -> Problem:
    """A key or table that is there already: told at the second key."""
    statement = _statement(failed)
    if statement is None:
        return _syntax(failed.scanner.text, failed.offset, failed.message)
    inside = [(first, second) for first, second in failed.scanner.duplicates if second.key_span.start >= statement.start]
    if failed.message.startswith("Duplicate") and inside:
        first, second = inside[0]
        return _twice(second.name, second.key_span, first.key_span)
    name, place = ".".join(name for name, _ in statement.parts), statement.header or statement.parts[-1][1]
    if failed.message.startswith("Cannot mutate"):
        message = f"'{name}' adds to an inline table or array, which is closed"
        return Problem("duplicate-key", message, place)
    return _twice(name, place, _first(before, statement))


def _twice(name: str, place: Span, first: Span | None) -> Problem:
    related = () if first is None else (("first written here", first),)
    return Problem("duplicate-key", f"'{name}' is written twice", place, None, related)


def _first(before: TomlScanner, statement: Statement) -> Span | None:
    """Where the key, or the part of it that stands in the way, was written first."""
    node: object = before.root
    found: Span | None = None
    for name in (*statement.table, *(name for name, _ in statement.parts)):
        if isinstance(node, Sequence):
            node = node.items[-1] if node.items else None
        entry: Entry | None = node.entry(name) if isinstance(node, Mapping) else None
        if entry is None:
            break
        node = entry.value
        found = (node.header if isinstance(node, Mapping) else None) or entry.key_span
    return found


def _statement(failed: Attempt) -> Statement | None:
    found = [statement for statement in failed.scanner.statements if statement.start <= failed.offset]
    return found[-1] if found else None


def _unclosed(failed: Attempt) -> Problem:
    text, offset = failed.scanner.text, failed.offset
    opened = failed.scanner.open[-1] if failed.scanner.open else None
    missing_comma = text[offset : offset + 1] not in ("", "\r", "\n") and not re.match(
        r"[\w\"'.-]+\s*=|\[[\w\"'. -]+\]\s*$", text[offset:], re.M
    )
    if opened is None or missing_comma:
        return _syntax(text, offset, "Expected ','")
    start = opened.span.start
    return Problem("syntax", f"'{text[start]}' is never closed", Span(start, start + 1))


def _syntax(text: str, offset: int, message: str) -> Problem:
    word = _WORD.match(text, offset)
    found = word.group() if word is not None else text[offset : offset + 1]
    span = Span(offset, offset + len(found.rstrip("\r\n")))
    shown = f"'{found}'" if found.strip() else "the end of the line" if found else "the end of the file"
    if message.startswith("Invalid value"):
        return Problem("syntax", f"expected a value, found {shown}", span, _value_hint(found))
    if message.startswith("Expected '='"):
        hint = "write 'key = value'; TOML has no 'key: value'" if found.startswith(":") else "write 'key = value'"
        return Problem("syntax", f"expected '=' after the key, found {shown}", span, hint)
    if message.startswith("Expected newline"):
        return _after_statement(text, offset, shown, span)
    if message.startswith("Expected ','"):
        return Problem("syntax", f"expected a comma or the end of the list, found {shown}", span)
    if message.startswith(("Unescaped", "Invalid hex value")):
        start = max(text.rfind("\\", 0, offset), 0)
        message = f"'{text[start : start + 2]}' is no escape in TOML"
        return Problem("syntax", message, Span(start, start + 2), "use single quotes, or double the backslash")
    if message.startswith(("Invalid statement", "Invalid initial character for a key")):
        template = text.startswith(("{{", "{%"), offset)
        return Problem("syntax", f"expected a key, found {shown}", span, "render the template first" if template else None)
    return Problem("syntax", message[:1].lower() + message[1:], span)


def _value_hint(found: str) -> str | None:
    if found in _PYTHON_WORDS:
        return f"write {_PYTHON_WORDS[found]}"
    return "put text in quotes" if found[:1].isalpha() or (found[:1] in "/$~." and found) else None


def _after_statement(text: str, offset: int, shown: str, span: Span) -> Problem:
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_+-.:"):
        start -= 1
    word = text[start : span.end]
    if start == offset:
        return Problem("syntax", f"expected the end of the line, found {shown}", span, "write one key on a line")
    if word.lstrip("+-")[:1] == "0" and word.lstrip("+-").isdigit():
        return Problem("syntax", "a number cannot start with 0", Span(start, span.end), "write it without the leading 0")
    return Problem("syntax", f"'{word}' is no value in TOML", Span(start, span.end), "put text in quotes")


def _line_end(text: str, start: int) -> int:
    match = re.compile(r"[^\r\n]*").match(text, start)
    return match.end() if match is not None else start
