"""Says in plain words, and at the place of the cause, why PyYAML refuses a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .nodes import Problem, Span
from .yaml_tree import TooDeep

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = re.compile(r"[^\s,\[\]{}]+")
_TIGHT_KEY = re.compile(r"(?:- +)*([\w.-]+):(?=[^ \t\r\n/\\])([^ \t\r\n]*)")
_TIGHT_DASH = re.compile(r"-(?=[^\s-])\S+")
_KEY_WITH_VALUE = re.compile(r"\s*(?:- +)*[^\s#][^#]*?: +[^\s#]")
_CONFLICT = re.compile(r"<{7}|={7}|>{7}")
_REST_OF_LINE = re.compile(r"[^\r\n]*")
_QUOTE_IT = "quote the value"


class _Seen:
    """A parser error and the text around it: `at` is where the parser gave up, `since` what it was reading."""

    def __init__(self, error: Exception, text: str, reached: int, quote: int | None) -> None:
        mark = getattr(error, "problem_mark", None)
        context = getattr(error, "context_mark", None)
        self.text = text
        self.message = str(getattr(error, "problem", None) or error)
        self.context = str(getattr(error, "context", None) or "")
        self.at: int = mark.index if mark is not None else reached
        self.since: int = context.index if context is not None else self.at
        self.char = text[self.at : self.at + 1]
        self.quote = quote

    def line_start(self, offset: int) -> int:
        """Where the line of an offset starts."""
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line(self, offset: int) -> str:
        """The line of an offset."""
        match = _REST_OF_LINE.match(self.text, self.line_start(offset))
        return match.group() if match is not None else ""

    def line_above(self) -> tuple[int, str]:
        """The closest line above that holds more than a comment: its start and text."""
        start = self.line_start(self.at)
        while start > 0:
            start = self.line_start(start - 1)
            line = self.line(start)
            if line.strip() and not line.lstrip().startswith("#"):
                return start, line
        return 0, ""

    def word(self, offset: int) -> str:
        """What stands at an offset, for the message."""
        match = _WORD.match(self.text, offset)
        found = match.group() if match is not None else self.text[offset : offset + 1]
        if not found.strip():
            return "the end of the line" if found else "the end of the file"
        return f"'{found[:40]}'"

    def span(self, offset: int) -> Span:
        """The word at an offset."""
        match = _WORD.match(self.text, offset)
        return Span(offset, match.end() if match is not None else min(offset + 1, len(self.text)))


def too_deep(offset: int, max_depth: int) -> Problem:
    """The problem of a nesting beyond the limit."""
    return Problem("depth", f"the nesting is deeper than {max_depth} levels", Span(offset, offset + 1))


def explain(error: Exception, text: str, reached: int, quote: int | None, max_depth: int) -> Problem:
    """The problem that an error of PyYAML's scanner or parser stands for.

    `reached` is where the last event ended, `quote` where the last scalar starts if it is quoted and has several lines.
    """
    if isinstance(error, TooDeep):
        return too_deep(error.offset, max_depth)
    seen = _Seen(error, text, reached, quote)
    if "maximum nesting depth" in seen.message:
        return too_deep(seen.at, max_depth)
    for guess in _GUESSES:
        problem = guess(seen)
        if problem is not None:
            return problem
    return _syntax(seen.message, seen.span(seen.at))


def _syntax(message: str, span: Span, hint: str | None = None, *related: tuple[str, Span]) -> Problem:
    return Problem("syntax", message, span, hint, related)


def _conflict(seen: _Seen) -> Problem | None:
    for offset in (seen.since, seen.at):
        start = seen.line_start(offset)
        if _CONFLICT.match(seen.text, start):
            return _syntax("an unresolved merge conflict", Span(start, start + 7), "keep one side of it")
    return None


def _beyond_unicode(seen: _Seen) -> Problem | None:
    if "chr()" not in seen.message and "too large" not in seen.message:
        return None
    start = max(seen.text.find("\\U", seen.at), 0)
    return _syntax("an escape beyond the last Unicode character", Span(start, start + 10))


def _template(seen: _Seen) -> Problem | None:
    start = seen.line_start(seen.at)
    statement = seen.text.find("{%", start, seen.at + 1)
    if statement >= 0:
        place = Span(statement, statement + 2)
        return _syntax("a '{% … %}' template statement", place, "render the template before it is used")
    opened = seen.text.find("{{", start, seen.at)
    behind = "block end" in seen.message or "expected key" in seen.message
    if opened >= 0 and (behind or ("flow" in seen.context and opened <= seen.since)):
        closed = seen.text.find("}}", opened, start + len(seen.line(start)))
        end = closed + 2 if closed >= 0 else opened + 2
        return _syntax("an unquoted '{{ … }}' template", Span(opened, end), _QUOTE_IT)
    return None


def _bad_start(seen: _Seen) -> Problem | None:
    if "cannot start any token" not in seen.message:
        return None
    place = Span(seen.at, seen.at + 1)
    if seen.char == "\t":
        indents = not seen.text[seen.line_start(seen.at) : seen.at].strip()
        what = "a tab as indentation" if indents else "a tab between words"
        return _syntax(f"{what}; YAML wants spaces", place, "replace the tab by spaces")
    return _syntax(f"an unquoted value cannot start with '{seen.char}'", place, _QUOTE_IT)


def _no_colon(seen: _Seen) -> Problem | None:
    if "could not find expected ':'" not in seen.message:
        return None
    tight = _tight_key(seen.text, seen.since)
    if tight is not None:
        return tight
    dash = _TIGHT_DASH.match(seen.text, seen.since)
    if dash is not None:
        return _syntax("a space is missing after '-'", Span(dash.start(), dash.start() + 1))
    return _syntax(f"expected 'key: value', found {seen.word(seen.since)}", seen.span(seen.since))


def _tight_key(text: str, offset: int) -> Problem | None:
    match = _TIGHT_KEY.match(text, offset)
    if match is None:
        return None
    place = Span(match.start(1), match.end())
    if match[2][0].isspace():
        blank = Span(match.start(2), match.start(2) + 1)
        return _syntax(f"the blank after '{match[1]}:' is U+{ord(match[2][0]):04X}, no space", blank, "type a space")
    return _syntax(f"a space is missing after '{match[1]}:'", place, f"write '{match[1]}: {match[2]}'")


def _stray_colon(seen: _Seen) -> Problem | None:
    if "mapping values are not allowed" not in seen.message:
        return None
    start = seen.line_start(seen.at)
    before = seen.text[start : seen.at]
    if before.startswith("---"):
        return _syntax("a mapping cannot start on the line of '---'", seen.span(start + 4))
    if re.search(r":\s", before):
        return _syntax("a second ':' in one value", Span(seen.at, seen.at + 1), _QUOTE_IT)
    above, line = seen.line_above()
    indent = len(line) - len(line.lstrip())
    tight = _tight_key(seen.text, above + indent)
    if tight is not None:
        return tight
    key = before.strip()
    if line and len(before) - len(before.lstrip()) > indent and _KEY_WITH_VALUE.match(line):
        place = Span(seen.at - len(before.lstrip()), seen.at)
        message = f"'{key}' is indented deeper than the line above, which has a value already"
        return _syntax(message, place, "indent it as the line above")
    return _syntax(f"a ':' is not allowed here, after '{key[-40:]}'", Span(seen.at, seen.at + 1))


def _quoted(seen: _Seen) -> Problem | None:
    if "quoted scalar" not in seen.context:
        return None
    if "end of stream" in seen.message or "unexpected document" in seen.message:
        quote = seen.text[seen.since : seen.since + 1]
        return _syntax("this quote is never closed", Span(seen.since, seen.since + 1), f"add the closing {quote}")
    start = seen.text.rfind("\\", seen.since, seen.at + 1)
    if start < 0:
        return None
    shown = seen.text[start : start + 2]
    hint = "in double quotes a backslash starts an escape: use single quotes"
    return _syntax(f"'{shown}' is no escape that YAML knows", Span(start, start + 2), hint)


def _flow(seen: _Seen) -> Problem | None:
    if "while parsing a flow" not in seen.context:
        return None
    text, at = seen.text, seen.at
    since = seen.since
    if text[since : since + 1] not in ("[", "{"):  # at the end of a text PyYAML's mark stands behind the bracket
        since = max(text.rfind("[", 0, since + 1), text.rfind("{", 0, since + 1), 0)
    opener = text[since : since + 1]
    closer = "]" if opener == "[" else "}"
    opened = Span(since, since + 1)
    if seen.char == "{" and text[at - 1 : at] == "$":
        end = text.find("}", at) + 1
        place = Span(at - 1, max(end, at + 1))
        return _syntax("an unquoted '${…}' inside [] or {}", place, f'quote it: "{text[at - 1 : place.end]}"')
    if seen.char == "?":
        return _syntax("'?' ends an unquoted value inside [] or {}", Span(at, at + 1), _QUOTE_IT)
    if seen.char and seen.char in "]}" and seen.char != closer:
        return _syntax(f"'{opener}' is closed by '{seen.char}'", Span(at, at + 1), None, ("opened here", opened))
    if at >= len(text) or seen.line_start(at) > seen.since:
        return _syntax(f"'{opener}' is never closed", opened, f"add '{closer}'")
    message = f"expected ',' or '{closer}', found {seen.word(at)}"
    return _syntax(message, seen.span(at), "separate entries by commas", ("opened here", opened))


def _block(seen: _Seen) -> Problem | None:
    if "block mapping" not in seen.context and "block collection" not in seen.context:
        return None
    before = seen.text[seen.line_start(seen.at) : seen.at]
    place = seen.span(seen.at)
    if before.strip():
        return _behind_value(seen, before, place)
    if seen.char == ":":
        return _syntax("a ':' without a key", place)
    if seen.char == "-" and "mapping" in seen.context:
        return _syntax("a list item where a key is expected", place, "align it with the other items of its list")
    if len(before) == _column(seen, seen.since) and "collection" in seen.context:
        return _syntax("a key where a list item is expected", place, "start the line with '- '")
    return _syntax(f"the indentation of {seen.word(seen.at)} fits no line above", place)


def _behind_value(seen: _Seen, before: str, place: Span) -> Problem:
    found = seen.word(seen.at)
    if seen.quote is not None and before.rstrip()[-1:] == seen.text[seen.quote]:
        opened = Span(seen.quote, seen.quote + 1)
        return _syntax("this quote is closed on another line only", opened, f"add the closing {seen.text[seen.quote]}")
    if seen.char in "]}":
        return _syntax(f"'{seen.char}' closes nothing", Span(seen.at, seen.at + 1))
    last = before.rstrip()[-1:]
    if last == "'":
        hint = "quote the whole value; inside single quotes an apostrophe is written ''"
        return _syntax(f"{found} after a closing quote", place, hint)
    if last == '"':
        return _syntax(f"{found} after a closing quote", place, "quote the whole value")
    return _syntax(f"{found} is not expected after the value", place, _QUOTE_IT)


def _column(seen: _Seen, offset: int) -> int:
    return offset - seen.line_start(offset)


def _block_scalar(seen: _Seen) -> Problem | None:
    if "block scalar" not in seen.context or "expected" not in seen.message:
        return None
    if seen.char == "#":
        return _syntax("a space is missing before '#'", Span(seen.at, seen.at + 1))
    indicator = seen.text[seen.since : seen.since + 1]
    return _syntax(f"the text of '{indicator}' must start on the next line", seen.span(seen.at))


def _bare_mark(seen: _Seen) -> Problem | None:
    if "scanning an alias" not in seen.context and "scanning an anchor" not in seen.context:
        return None
    mark = seen.text[seen.since : seen.since + 1]
    return _syntax(f"an unquoted value cannot start with '{mark}'", seen.span(seen.since), _QUOTE_IT)


def _list_behind_key(seen: _Seen) -> Problem | None:
    if "sequence entries are not allowed" not in seen.message:
        return None
    hint = "start the list on the next line, or quote the value"
    return _syntax("a list item cannot stand behind a key", Span(seen.at, seen.at + 1), hint)


def _no_value(seen: _Seen) -> Problem | None:
    if "node content" not in seen.message:
        return None
    return _syntax(f"expected a value, found {seen.word(seen.at)}", Span(seen.at, seen.at + 1), _QUOTE_IT)


def _document_start(seen: _Seen) -> Problem | None:
    if "document start" not in seen.message:
        return None
    return _syntax(f"expected '---' before {seen.word(seen.at)}", seen.span(seen.at))


_GUESSES: tuple[Callable[[_Seen], Problem | None], ...] = (
    _conflict,
    _beyond_unicode,
    _template,
    _bad_start,
    _no_colon,
    _stray_colon,
    _quoted,
    _flow,
    _block_scalar,
    _block,
    _bare_mark,
    _list_behind_key,
    _no_value,
    _document_start,
)
