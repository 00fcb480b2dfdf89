"""Reads JSON as Python's json.load does: NaN and Infinity are numbers, of equal keys the last one counts."""

from __future__ import annotations

import re

from .nodes import Entry, Mapping, Node, Problem, Scalar, Sequence, Span
from .reading import Reading

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_STRING_BODY = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_BAD_ESCAPE = re.compile(r'(?:[^\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_COMMENT = re.compile(r"#[^\r\n]*|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_$][\w$.-]*")
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


class _Fault(Exception):
    def __init__(self, message: str, start: int, end: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = Problem("syntax", message, Span(start, start if end is None else end), hint)


class _TooDeep(_Fault):
    def __init__(self, limit: int, start: int) -> None:
        super().__init__(f"the nesting is deeper than {limit} levels", start, start + 1)
        self.problem = self.problem._replace(kind="depth")


def read_json(text: str, readable: int, bom: bool, max_depth: int) -> Reading:
    """Read a JSON text; on a fault, the tree holds what stands before it.

    Of comments, and of commas at the end of a collection, the first is a problem, and the reading goes on behind them.
    """
    scanner = _Scanner(text if readable == len(text) else text[:readable], max_depth)
    problems = scanner.problems
    if bom:
        message = "the file starts with a byte order mark, which json.load refuses"
        problems.append(Problem("encoding", message, Span(0, 0), "save it as UTF-8 without a byte order mark"))
    try:
        scanner.scan()
    except _Fault as fault:
        if readable == len(text):
            problems.append(fault.problem)
    root = scanner.root
    return Reading(() if root is None else (root,), tuple(problems), tuple(scanner.duplicates), (), scanner.position)


class _Scanner:
    """One pass over a text, with an own stack in place of recursion."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.root: Node | None = None
        self.duplicates: list[tuple[Mapping, Entry, Entry]] = []
        self.problems: list[Problem] = []
        self.position = 0
        self._max_depth = max_depth
        self._stack: list[Mapping | Sequence] = []
        self._keys: list[tuple[str, Span]] = []
        self._firsts: dict[int, Entry] = {}
        self._fresh = False

    def scan(self) -> None:
        """Read the whole text. Raises _Fault; open collections then end where the reading stopped."""
        try:
            self._skip_blanks()
            if self.position == len(self.text):
                raise _Fault("the file is empty; JSON needs a value", self.position)
            self._value()
            while self._stack:
                self._next_item()
            self._skip_blanks()
            if self.position < len(self.text):
                raise self._unexpected("the end of the file")
        finally:
            for node in self._stack:
                node.span = Span(node.span.start, max(self.position, node.span.start))

    def _skip_blanks(self) -> None:
        match = _BLANK.match(self.text, self.position)
        if match is None:
            return
        self.position = match.end()
        while (comment := _COMMENT.match(self.text, self.position)) is not None:
            start = self.position
            self._tolerate(_Fault("a comment; JSON has none", start, comment.end(), "delete it"))
            self.position = comment.end()
            match = _BLANK.match(self.text, self.position)
            self.position = self.position if match is None else match.end()

    def _tolerate(self, fault: _Fault) -> None:
        if all(problem.message != fault.problem.message for problem in self.problems):
            self.problems.append(fault.problem)

    def _next_item(self) -> None:
        """Read the end of the innermost collection, or a comma (but before the first item) and the next item."""
        owner = self._stack[-1]
        closer = "}" if isinstance(owner, Mapping) else "]"
        end = self.position
        self._skip_blanks()
        found = self.text[self.position : self.position + 1]
        fresh, self._fresh = self._fresh, False
        if found == closer:
            self._finish(owner)
            return
        if fresh and found:
            self._item(owner)
            return
        if found != ",":
            raise self._no_comma(owner, end, closer)
        comma = self.position
        self.position += 1
        self._skip_blanks()
        if not self.text.startswith(closer, self.position):
            self._item(owner)
            return
        self._tolerate(_Fault(f"a comma before '{closer}'; JSON allows none there", comma, comma + 1, "delete it"))
        self._finish(owner)

    def _no_comma(self, owner: Mapping | Sequence, end: int, closer: str) -> _Fault:
        if self.position == len(self.text):
            opener = "{" if closer == "}" else "["
            start = owner.span.start
            return _Fault(f"'{opener}' is never closed", start, start + 1, f"add '{closer}'")
        if self.text[self.position] in '"{[-0123456789tfnNI':
            return _Fault("a comma is missing here", end, end)
        return self._unexpected(f"',' or '{closer}'")

    def _finish(self, owner: Mapping | Sequence) -> None:
        self.position += 1
        owner.span = Span(owner.span.start, self.position)
        self._stack.pop()

    def _item(self, owner: Mapping | Sequence) -> None:
        if isinstance(owner, Mapping):
            self._key()
        self._value()

    def _key(self) -> None:
        start = self.position
        if not self.text.startswith('"', start):
            raise self._unexpected("a key in double quotes")
        name = self._string()
        self._keys.append((name, Span(start, self.position)))
        self._skip_blanks()
        if not self.text.startswith(":", self.position):
            self._keys.pop()
            raise self._unexpected(f"':' after the key {self.text[start : start + 40].splitlines()[0]!r}")
        self.position += 1
        self._skip_blanks()

    def _value(self) -> None:
        start = self.position
        char = self.text[start : start + 1]
        if char in ("{", "["):
            self._open(char, start)
        elif char == '"':
            text = self._string()
            self._attach(Scalar(Span(start, self.position), text, self.text[start : self.position], "double"))
        else:
            value = self._bare()
            self._attach(Scalar(Span(start, self.position), value, self.text[start : self.position]))

    def _open(self, char: str, start: int) -> None:
        if len(self._stack) >= self._max_depth:
            raise _TooDeep(self._max_depth, start)
        span = Span(start, start + 1)
        node: Mapping | Sequence = Mapping(span, flow=True) if char == "{" else Sequence(span, flow=True)
        self._attach(node)
        self._stack.append(node)
        self._fresh = True
        self.position += 1

    def _attach(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        owner = self._stack[-1]
        if isinstance(owner, Sequence):
            owner.items.append(node)
            return
        name, span = self._keys.pop()
        entry = Entry(name, name, span, node)
        earlier = owner.add(entry)
        if earlier is not None:
            first = self._firsts.get(id(earlier), earlier)
            self._firsts[id(entry)] = first
            self.duplicates.append((owner, first, entry))

    def _bare(self) -> object:
        """A number or a constant."""
        start = self.position
        number = _NUMBER.match(self.text, start)
        if number is not None:
            self.position = number.end()
            return self._number(number)
        for word, value in _CONSTANTS.items():
            if self.text.startswith(word, start):
                self.position += len(word)
                return value
        raise self._unexpected("a value")

    def _number(self, number: re.Match[str]) -> object:
        whole, fraction, exponent = number.groups()
        if fraction or exponent:
            return float(number.group())
        try:
            return int(whole)
        except ValueError:
            message = "this whole number has more digits than Python reads"
            raise _Fault(message, number.start(), number.end()) from None

    def _string(self) -> str:
        start = self.position
        match = _STRING.match(self.text, start)
        if match is None:
            raise self._broken_string(start)
        self.position = match.end()
        body = self.text[start + 1 : self.position - 1]
        return body if "\\" not in body else self._unescape(body, start + 1)

    def _unescape(self, body: str, offset: int) -> str:
        good = _BAD_ESCAPE.match(body)
        if good is not None and good.end() < len(body):
            place = offset + good.end()
            shown = self.text[place : place + 2]
            raise _Fault(f"'{shown}' is no escape in JSON", place, place + 2, "write a backslash as '\\\\'")
        plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _SIMPLE[m[2]], body)
        return _SURROGATES.sub(_join_surrogates, plain)

    def _broken_string(self, start: int) -> _Fault:
        body = _STRING_BODY.match(self.text, start)
        end = body.end() if body is not None else start + 1
        char = self.text[end : end + 1]
        if char in ("\n", "\r", ""):
            return _Fault("this string is never closed", start, end, "add the closing '\"'")
        if char == "\\":
            return _Fault("a backslash at the end of a line", end, end + 1, "JSON strings cannot span lines")
        name = "a tab" if char == "\t" else f"the control character U+{ord(char):04X}"
        return _Fault(f"{name} inside a string", end, end + 1, "write it as an escape, a tab as '\\t'")

    def _unexpected(self, wanted: str) -> _Fault:
        start = self.position
        char = self.text[start : start + 1]
        if not char:
            return _Fault(f"the file ends where {wanted} is expected", start)
        word = _WORD.match(self.text, start)
        found = word.group() if word is not None else char
        shown = f"U+{ord(char):04X}" if len(found) == 1 and not found.isprintable() else f"'{found}'"
        return _Fault(f"expected {wanted}, found {shown}", start, start + len(found), _hint(self.text, start, found))


def _hint(text: str, start: int, found: str) -> str | None:
    if found == "'":
        return "JSON strings stand in double quotes"
    if found in _PYTHON_WORDS:
        return f"write {_PYTHON_WORDS[found]}"
    if text.startswith(("{{", "{%", "${"), start) or text.startswith(("{{", "{%"), start - 1):
        return "quote a template"
    return "put text in double quotes" if found[0].isalpha() else None


def _join_surrogates(match: re.Match[str]) -> str:
    pair = match.group()
    return chr(0x10000 + ((ord(pair[0]) - 0xD800) << 10) + (ord(pair[1]) - 0xDC00))
