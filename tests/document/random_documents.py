"""Random YAML, TOML and JSON texts in every way people write them; each comment of a text is unique."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Draw = Any

WORDS = ["full_shard", "auto_wrap", "LlamaDecoderLayer", "bf16", "org/model-7b", "./out", "two words", "été", "日本"]
TRAPS = ["no", "on", "y", "1e-4", "012", "12:30", "1_000", "2024-01-02", "null", "", "# x", "a: b", "'", 'say "hi"', "- a", "{x}", "*a"]
TRAPS += ["tab\t", "two\nlines", " pad ", "=", "<<", "~", ".inf", "0o12", "None", "a #b", "\x85", "\ufeff", "🚀"]
NUMBERS = [0, 1, -3, 2**40, 0.5, 1e-05, 1e16, -0.0, 3.0, float("inf")]

texts = st.sampled_from(WORDS + TRAPS)
no_nulls = st.one_of(st.booleans(), st.sampled_from(NUMBERS), texts)
names = st.sampled_from(["fsdp", "fsdp_version", "wrap", "x y", "no", "1", "né", "a.b", "'q'", "new"])


def values(format: str) -> st.SearchStrategy[Any]:
    """Values to write; TOML has no null."""
    leaves = no_nulls if format == "toml" else st.one_of(st.none(), no_nulls)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
        max_leaves=5,
    )


class Writer:
    """What the three formats' writers share: draws, and comments with numbers."""

    newlines: tuple[str, ...] = ("\n", "\n", "\n", "\r\n", "\r")

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.comments = 0
        self.keys = 0

    def text(self) -> str:
        raise NotImplementedError

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) < percent)

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def comment(self) -> str:
        self.comments += 1
        return f"# c{self.comments}{self.pick('', ' no: x', ' [', ' é')}"

    def trail(self, percent: int = 20) -> str:
        return self.pick(" ", "  ", "   ") + self.comment() if self.chance(percent) else self.pick("", "", "", " ")

    def key(self) -> str:
        self.keys += 1
        return f"k{self.keys}"


class YamlWriter(Writer):
    """Writes one YAML text line by line."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.step = self.pick(2, 2, 4, 3)
        self.dash = self.pick(0, self.step)
        self.anchors: list[tuple[str, bool]] = []
        self.odd = self.chance(30)

    def text(self) -> str:
        lines: list[str] = self.pick([], [], ["---"], ["# head", ""])
        root = self.draw(st.integers(0, 19))
        if root == 0:
            lines += ["# only a comment"]
        elif root == 1:
            lines += [self.flow(2)]
        elif root == 2:
            lines += self.sequence(0, 0)
        else:
            lines += self.mapping(0, 0)
        lines += [""] if self.chance(10) else []
        return "\n".join(lines) + self.pick(*["\n"] * 6, "")

    def mapping(self, indent: int, depth: int, first: str | None = None) -> list[str]:
        lines: list[str] = []
        for number in range(self.draw(st.integers(1, 4) if depth else st.integers(1, 9))):
            if number or first is None:
                lines += self.gap(indent)
            before = " " * indent if number or first is None else first
            if self.odd and self.anchors and self.chance(10) and number:
                found = [name for name, is_mapping in self.anchors if is_mapping]
                if found:
                    lines.append(f"{before}<<: *{self.pick(*found)}")
                    continue
            lines += self.entry(before, indent, depth)
        return lines

    def entry(self, before: str, indent: int, depth: int) -> list[str]:
        key = self.yaml_key()
        if self.odd and self.chance(4):
            return [f"{before}? {key}{self.trail()}", f"{' ' * indent}: {self.scalar()}"]
        return self.behind(f"{before}{key}{self.pick(':', ':', ':', ' :')}", indent, depth)

    def yaml_key(self) -> str:
        key = self.key()
        if self.odd and self.chance(5) and self.keys > 1:
            return f"k{self.keys - 1}"
        return self.pick(*[key] * 7, f'"{key}"', f"'{key}'", f"{key} x", f"é{key}", f"{self.keys}", f'"{key}: #"')

    def behind(self, opener: str, indent: int, depth: int) -> list[str]:
        """A value behind a colon."""
        kind = self.draw(st.integers(0, 99))
        if kind < 12 and depth < 3:
            anchor = self.anchor()
            lines = [opener + anchor + self.trail(), *self.inner_gap(indent), *self.mapping(indent + self.step, depth + 1)]
            self.anchors += [(anchor[2:], True)] if anchor else []
            return lines
        if kind < 24 and depth < 3:
            return [opener + self.trail(), *self.inner_gap(indent), *self.sequence(indent + self.dash, depth + 1)]
        if kind < 34:
            return self.block_scalar(opener, indent)
        if kind < 42:
            return [opener + self.trail()]
        if kind < 56:
            written = self.flow(indent + self.step)
            return [f"{opener} {written}{self.trail()}"]
        if kind < 60 and self.odd and self.anchors:
            return [f"{opener} *{self.pick(*self.anchors)[0]}{self.trail()}"]
        anchor = self.anchor()
        self.anchors += [(anchor[2:], False)] if anchor else []
        return [opener + anchor + self.pick(" ", " ", "   ") + self.scalar() + self.trail()]

    def anchor(self) -> str:
        if not self.odd or self.chance(75):
            return ""
        self.keys += 1
        return f" &a{self.keys}"

    def sequence(self, indent: int, depth: int, first: str | None = None) -> list[str]:
        lines: list[str] = []
        for number in range(self.draw(st.integers(1, 3))):
            if number or first is None:
                lines += self.gap(indent)
            before = (" " * indent if number or first is None else first) + "-"
            kind = self.draw(st.integers(0, 9))
            if kind < 3 and depth < 3:
                blanks = self.pick(" ", " ", "   ")
                lines += self.mapping(indent + 1 + len(blanks), depth + 1, before + blanks)
            elif kind == 3 and depth < 3:
                lines += self.sequence(indent + 2, depth + 1, before + " ")
            elif kind == 4 and depth < 3:
                lines += [before + self.trail(), *self.mapping(indent + 2, depth + 1)]
            elif kind == 5:
                lines += self.block_scalar(before, indent)
            elif kind == 6:
                lines.append(f"{before} {self.flow(indent + 2)}{self.trail()}")
            elif kind == 7:
                lines.append(before + self.trail())
            else:
                lines.append(f"{before} {self.scalar()}{self.trail()}")
        return lines

    def gap(self, indent: int) -> list[str]:
        """Blank lines and comments between entries."""
        lines: list[str] = []
        while self.chance(15):
            lines.append("" if self.chance(40) else " " * self.pick(indent, indent, 0, indent + 2) + self.comment())
        return lines

    def inner_gap(self, indent: int) -> list[str]:
        return [" " * (indent + self.step) + self.comment()] if self.chance(10) else []

    def block_scalar(self, opener: str, indent: int) -> list[str]:
        header = self.pick("|", "|", "|-", ">", ">-", "|+", ">+")
        body = " " * (indent + self.pick(1, 2, 4))
        lines = [f"{opener} {header}{self.trail(10)}", body + "text"]
        lines += self.pick([], [body + "# no comment"], ["", body + "more"], [body + "  deeper"])
        return lines + self.pick([], [], [""], ["", ""])

    def scalar(self) -> str:
        if self.odd and self.chance(6):
            return "!!str 5"
        return str(
            self.pick(
                *("true", "no", "null", "~", "8", "1e-4", "1.0e-05", "12:30", "2024-01-02", "plain", "two words", "a#b"),
                *("'single'", "'it''s'", '"double"', '"a # b"', '"t\\tb"', "http://h/p", "été", '"日本"', "-1", "'no'"),
            )
        )

    def flow(self, indent: int, depth: int = 0) -> str:
        opener, closer = self.pick("{}", "[]")
        items: list[str] = []
        for _ in range(self.draw(st.integers(0, 3))):
            value = self.flow(indent, depth + 1) if depth < 2 and self.chance(25) else self.flow_scalar()
            items.append(value if opener == "[" else f"{self.flow_key()}: {value}")
        return self.bracketed(opener, closer, items, indent, depth)

    def flow_key(self) -> str:
        return str(self.pick("{0}", "{0}", '"{0}"', "'{0}'")).format(self.key())

    def flow_scalar(self) -> str:
        return str(self.pick("1", "no", "x", "'s'", '"d, e"', "null", "2.5", "a b"))

    def bracketed(self, opener: str, closer: str, items: list[str], indent: int, depth: int) -> str:
        pad = self.pick("", "", " ")
        comma = "," if items and self.chance(15) else ""
        if depth or not self.chance(35):
            return opener + pad + self.pick(", ", ", ", ",").join(items) + comma + pad + closer
        blanks = " " * (indent + 2)
        written = [f"{blanks}{item},{self.trail()}" for item in items[:-1]]
        written += [f"{blanks}{item}{comma}{self.trail()}" for item in items[-1:]]
        if self.chance(10):
            written.append(blanks + self.comment())
        return "\n".join([opener + self.trail(10), *written, " " * indent + closer])


class TomlWriter(Writer):
    """Writes one TOML text."""

    newlines = ("\n", "\n", "\r\n")

    def text(self) -> str:
        lines: list[str] = self.pick([], ["# head", ""])
        lines += self.pairs(0)
        names: list[str] = []
        for _ in range(self.draw(st.integers(0, 4))):
            lines += self.pick([], [""], [""], ["", self.comment()])
            lines += [self.header(names) + self.trail(), *self.pairs(self.pick(0, 0, 2))]
        return "\n".join(lines) + self.pick(*["\n"] * 6, "")

    def header(self, names: list[str]) -> str:
        if names and self.chance(40):
            parent = self.pick(*names)
            rows = [name for name in names if name.startswith("[")]
            if rows and self.chance(40):
                return f"[{self.pick(*rows)}]"
            name = f"{parent.strip('[]')}.{self.key()}"
        else:
            name = self.pick("{0}", "{0}", '"{0}"', "{0}.sub").format(self.key())
        if self.chance(25):
            names.append(f"[{name}]")
            return f"[[{name}]]"
        names.append(name)
        return f"[{name}]"

    def pairs(self, indent: int) -> list[str]:
        lines: list[str] = []
        dotted = self.key()
        for _ in range(self.draw(st.integers(0, 4))):
            while self.chance(12):
                lines.append("" if self.chance(50) else " " * indent + self.comment())
            key = str(self.pick("{0}", "{0}", "{0}", '"{0}"', "'{0}'", "{1}.{0}", "{1} . {0}.z")).format(self.key(), dotted)
            lines.append(f"{' ' * indent}{key}{self.pick(' = ', ' = ', '=', '  =')}{self.value(0)}{self.trail()}")
        return lines

    def value(self, depth: int) -> str:
        kind = self.draw(st.integers(0, 9))
        if kind < 2 and depth < 2:
            prefixes = [self.pick(*[""] * 7, "n.") for _ in range(self.draw(st.integers(0, 3)))]
            pairs = [f"{prefix}{self.key()} = {self.value(depth + 1)}" for prefix in prefixes]
            return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
        if kind < 4 and depth < 2:
            return self.array(depth)
        if kind == 4 and depth == 0:
            return str(self.pick('"""\nmulti # no\n[no]\n"""', "'''\nraw \\ # x\n'''"))
        return str(
            self.pick("1", "true", "1e-4", "0xFF", "-0.5", "inf", '"text"', "'lit\\x'", '"a # b"', "1979-05-27", '"é\\n"', "07:32:00")
        )

    def array(self, depth: int) -> str:
        items = [self.value(depth + 1) for _ in range(self.draw(st.integers(0, 3)))]
        comma = "," if items and self.chance(15) else ""
        if depth or not self.chance(40):
            return "[" + ", ".join(items) + comma + "]"
        lines = [f"  {item},{self.trail()}" for item in items[:-1]] + [f"  {item}{comma}{self.trail()}" for item in items[-1:]]
        return "\n".join(["[", *lines, "]"])


class JsonWriter(Writer):
    """Writes one JSON text."""

    def text(self) -> str:
        self.step = self.pick("  ", "    ", "\t", None)
        self.colon = self.pick(": ", ": ", ":", " : ")
        return self.value(0, self.pick("{}", "{}", "{}", "[]")) + self.pick("", "\n", "\n")

    def value(self, depth: int, brackets: str | None = None) -> str:
        brackets = brackets or (self.pick("{}", "[]", None, None) if depth < 3 else None)
        if brackets is None:
            return str(self.pick("1", "true", "null", "1e-4", "-0.0", '"text"', '"a\\"b"', '"\\u00e9é"', "NaN", '"x, {y}"', '""'))
        items = [self.item(brackets, depth + 1) for _ in range(self.draw(st.integers(0, 3 if depth else 8)))]
        if self.step is None or not items or self.chance(15):
            return brackets[0] + self.pick(", ", ",").join(items) + brackets[1]
        below = "\n" + self.step * (depth + 1)
        return brackets[0] + below + f",{below}".join(items) + "\n" + self.step * depth + brackets[1]

    def item(self, brackets: str, depth: int) -> str:
        value = self.value(depth)
        return value if brackets == "[]" else f'"{self.pick(*[self.key()] * 7, "x" + self.key(), "é")}"{self.colon}{value}'


def documents(writer: type[Writer]) -> st.SearchStrategy[str]:
    """Texts of one format."""

    @st.composite
    def text(draw: Draw) -> str:
        newline: str = draw(st.sampled_from(writer.newlines))
        return writer(draw).text().replace("\n", newline)

    return text()
