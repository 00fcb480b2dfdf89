"""What the requirement files of one folder say about the known packages: requirements, pyproject, lock and conda files.

Files are data. Nothing is installed or fetched; a file that cannot be read is a remark, never an error.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.releases import NEWEST
from fsdplint.versions import canonical, clauses, exact, is_two_sided, release, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_BYTES = 32 * 1024 * 1024
"""Larger files are not read."""

MAX_INCLUDES = 100
"""How many files ``-r`` and ``-c`` may draw in."""

CONDA_NAMES = {"pytorch": "torch"}
"""Packages whose conda name is not their PyPI name."""


class Unreadable(ValueError):
    """A file that says nothing that can be understood; the text says why."""


class Statement(NamedTuple):
    """What one line says: canonical package, specifier without blanks, file, and 1-based line."""

    package: str
    specifier: str
    file: Path
    line: int


def read(folder: Path, names: Iterable[str]) -> tuple[list[Statement], list[tuple[Path, str]]]:
    """What the named files of a folder say, one statement for each package, and the files that could not be read.

    Lock files beat the others; among those the more exact statement wins, then the better known file.
    """
    statements: list[tuple[int, int, Statement]] = []
    unread: list[tuple[Path, str]] = []
    for order, name in enumerate(sorted(names, key=_order)):
        file = folder / name
        try:
            for statement in _statements(file, unread):
                looseness = 0 if _is_lock(name) else _looseness(statement.specifier)
                statements.append((looseness, order, statement))
        except ValueError as error:
            unread.append((file, str(error)))
    best: dict[str, Statement] = {}
    for _, _, statement in sorted(statements, key=lambda ranked: ranked[:2]):
        best.setdefault(statement.package, statement)
    return list(best.values()), unread


_BETTER_KNOWN = (
    "uv.lock",
    "pylock.toml",
    "poetry.lock",
    "requirements.txt",
    "constraints.txt",
    "pyproject.toml",
    "environment.yml",
    "environment.yaml",
)


def _order(name: str) -> tuple[int, str]:
    return (_BETTER_KNOWN.index(name) if name in _BETTER_KNOWN else len(_BETTER_KNOWN), name)


def _is_lock(name: str) -> bool:
    return name.lower().endswith(".lock") or name.lower().startswith("pylock")


def _looseness(specifier: str) -> int:
    if exact(specifier) is not None:
        return 1
    return 2 if is_two_sided(specifier) else 3


def _statements(file: Path, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """All statements of a file, by its kind; remarks take what is wrong with its lines and the files it includes."""
    name = file.name.lower()
    if _is_lock(name):
        return _locked(file)
    if name == "pyproject.toml":
        return _pyproject(file, remarks)
    if name.startswith("environment"):
        return _environment(file, remarks)
    return _requirements(file, remarks, set())


def _text(file: Path) -> str:
    """A file's text with ``\\n`` at the ends of lines; raises Unreadable."""
    try:
        if not file.is_file():
            raise Unreadable("no such file")
        if file.stat().st_size > MAX_BYTES:
            raise Unreadable(f"larger than {MAX_BYTES} bytes")
        data = file.read_bytes()
        # PowerShell's `pip freeze > requirements.txt` writes UTF-16.
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    except UnicodeError:
        raise Unreadable("neither UTF-8 nor UTF-16") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@cache
def _known_name() -> re.Pattern[str]:
    names = (re.escape(name).replace(r"\-", "[-_.]+") for name in (*NEWEST, *CONDA_NAMES))
    return re.compile("|".join(names), re.IGNORECASE)


# Requirement files


_INCLUDE = r"(?:-r|-c|--requirement|--constraint)(?:\s+|=)?(\S.*)"
_WHEEL = r"(?:^|[\s/\\@])([A-Za-z0-9_.]+)-(\d[^-/\\]*)-[^/\\\s]+\.whl"


def _requirements(file: Path, remarks: list[tuple[Path, str]], seen: set[Path]) -> Iterator[Statement]:
    """The statements of a requirement file and of those it includes, each file once."""
    seen.add(file)
    for line, content in _logical_lines(_text(file)):
        yield from _requirement_line(file, line, content, remarks, seen)


def _requirement_line(file: Path, line: int, content: str, remarks: list[tuple[Path, str]], seen: set[Path]) -> Iterator[Statement]:
    include = re.fullmatch(_INCLUDE, content) if content.startswith("-") else None
    if include is None:
        yield from _pip(file, line, content, remarks)
    elif "://" not in include[1]:
        other = file.parent / include[1].strip("\"' ")
        try:
            other = other.resolve()
            if other not in seen and len(seen) < MAX_INCLUDES:
                yield from _requirements(other, remarks, seen)
        except (ValueError, OSError, RuntimeError) as error:
            remarks.append((other, f"{error}, included by line {line} of {file.name}"))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, those joined that end in a backslash, each with the number of its first one."""
    joined, first = "", 0
    for number, raw in enumerate(f"{text}\n".split("\n"), 1):
        first = first or number
        if raw.endswith("\\") and not raw.lstrip().startswith("#"):
            joined += raw[:-1] + " "
            continue
        content = re.sub(r"(^|\s)#.*", "", joined + raw).strip()
        if content:
            yield first, content
        joined, first = "", 0


def _pip(file: Path, line: int, text: str, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """The statement of one requirement as pip reads it: none for other packages, without a version, or not for Linux."""
    wheel = re.search(_WHEEL, text) if ".whl" in text else None
    requirement, _, marker = re.sub(r"\s--.*", "", text).partition(";")
    if wheel:
        requirement = f"{wheel[1]}=={wheel[2].replace('%2B', '+').replace('%2b', '+')}"
    try:
        name, rest = split(requirement)
    except ValueError:
        return
    package, specifier = canonical(name), "".join(rest.strip("()").split())
    if package in NEWEST and specifier and "://" not in specifier and _applies(marker):
        yield from _stated(package, specifier, file, line, remarks)


def _stated(package: str, specifier: str, file: Path, line: int, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    try:
        clauses(specifier)
    except ValueError as error:
        remarks.append((file, f"line {line}: {error}"))
    else:
        yield Statement(package, specifier, file, line)


def _applies(marker: str) -> bool:
    """Whether an environment marker holds on x86-64 Linux, where training runs, under the Python at hand.

    Markers that ask for an extra do not; one that cannot be read does.
    """
    if not marker.strip():
        return True
    if re.search(r"\bextra\b", marker):
        return False
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    linux = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    try:
        return Marker(marker).evaluate(linux)
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True


# pyproject.toml


def _pyproject(file: Path, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """The dependencies of a project, its extras and groups, and Poetry's."""
    text = _text(file)
    if not _known_name().search(text):
        return
    import tomli

    try:
        data = tomli.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    lines = text.split("\n")
    project = _table(data, "project")
    groups = (*_table(project, "optional-dependencies").values(), *_table(data, "dependency-groups").values())
    for requirement in _texts([project.get("dependencies"), *groups]):
        yield from _pip(file, _line_of(lines, requirement), requirement, remarks)
    poetry = _table(data, "tool", "poetry")
    groups = tuple(_table(group, "dependencies") for group in _table(poetry, "group").values())
    for table in (_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *groups):
        for name, constraint in table.items():
            yield from _poetry(file, _line_of(lines, name), name, constraint, remarks)


def _table(data: Any, *keys: str) -> dict[str, Any]:
    """The table at a path, empty where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _line_of(lines: list[str], text: str) -> int:
    """The 1-based number of the first line that states a text as a string, a key or the last part of a table's name."""
    shown = re.escape(text)
    pattern = re.compile(rf"""["']{shown}["']|^\s*{shown}\s*=|^\s*\[.*\.{shown}\]""")
    return next((number for number, line in enumerate(lines, 1) if pattern.search(line)), 1)


def _poetry(file: Path, line: int, name: str, constraint: Any, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """The statements of a Poetry dependency: a constraint, a table with a version, or a list of such."""
    package = canonical(name)
    if package not in NEWEST:
        return
    for choice in constraint if isinstance(constraint, list) else [constraint]:
        table = choice if isinstance(choice, dict) else {"version": choice}
        version, marker = table.get("version"), table.get("markers", "")
        specifier = _pep440(version) if isinstance(version, str) else ""
        if specifier and _applies(str(marker)):
            yield from _stated(package, specifier, file, line, remarks)


def _pep440(constraint: str) -> str:
    """A Poetry constraint as a specifier; empty where it leaves all open, or gives alternatives."""
    if "|" in constraint:
        return ""
    parts = re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[<>=!~^])", constraint.strip())
    return ",".join(filter(None, map(_pep440_part, parts)))


def _pep440_part(part: str) -> str:
    part = "".join(part.split())
    if part in ("", "*"):
        return ""
    if part[0] in "^~" and not part.startswith("~="):
        numbers = [int(number) for number in re.findall(r"\d+", part.split("+")[0])[:3]]
        return f">={part[1:]},<{_next(numbers, caret=part[0] == '^')}" if numbers else part
    return part if part[0] in "<>=!~" else f"=={part}"


def _next(numbers: list[int], caret: bool) -> str:
    """The first release that ``^`` (the leftmost number that is not zero stays) or ``~`` (the minor one stays) excludes."""
    fixed = min(1, len(numbers) - 1)
    if caret:
        fixed = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    return ".".join(map(str, (*numbers[:fixed], numbers[fixed] + 1)))


# Lock files


_LOCKED = r"""(name|version)\s*=\s*["']([^"']+)["']"""


def _locked(file: Path) -> Iterator[Statement]:
    """The packages that uv.lock, poetry.lock or pylock.toml lock; of several releases of one the newest."""
    newest: dict[str, Statement] = {}
    packages = 0
    entry: dict[str, str] = {}
    inside = False
    for number, line in enumerate(_text(file).split("\n"), 1):
        if line.startswith("["):
            inside = line.strip() in ("[[package]]", "[[packages]]")
            packages += inside
            entry = {}
        elif inside and (match := re.match(_LOCKED, line)):
            entry[match[1]] = match[2]
            if len(entry) == 2:
                statement = Statement(canonical(entry["name"]), f"=={entry['version']}", file, number)
                _keep_newest(newest, statement)
    if not packages:
        raise Unreadable("no packages in it")
    yield from newest.values()


def _keep_newest(newest: dict[str, Statement], statement: Statement) -> None:
    number = release(statement.specifier[2:])
    other = newest.get(statement.package)
    if statement.package in NEWEST and number and (other is None or number > (release(other.specifier[2:]) or ())):
        newest[statement.package] = statement


# Conda


def _environment(file: Path, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """The ``dependencies`` of a conda environment, with its ``pip`` list."""
    text = _text(file)
    if not _known_name().search(text):
        return
    for node in _entries(_composed(text), "dependencies"):
        line = node.start_mark.line + 1
        if isinstance(node.value, str):
            yield from _conda(file, line, node.value, remarks)
        for item in _entries(node, "pip"):
            if isinstance(item.value, str):
                yield from _requirement_line(file, item.start_mark.line + 1, item.value.strip(), remarks, {file})


def _composed(text: str) -> Any:
    """The node tree of a YAML text, whose values are never constructed; raises Unreadable."""
    import yaml

    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Unreadable(f"no YAML{f', line {mark.line + 1}' if mark else ''}") from None


def _entries(node: Any, key: str) -> list[Any]:
    """The item nodes of the list that a mapping node has under a key."""
    import yaml

    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value == key and isinstance(value, yaml.SequenceNode):
            return list(value.value)
    return []


_MATCH_SPEC = r"(?:.*::)?([A-Za-z0-9._-]+?)\s*([<>=!~\s].*)?"


def _conda(file: Path, line: int, text: str, remarks: list[tuple[Path, str]]) -> Iterator[Statement]:
    """The statement of a conda match spec: ``pytorch=2.3`` is any 2.3, ``pytorch=2.3.1=cuda*`` names a build, too."""
    match = re.fullmatch(_MATCH_SPEC, text.strip())
    if match is None:
        return
    package = canonical(match[1])
    package = CONDA_NAMES.get(package, package)
    constraint = (match[2] or "").strip()
    if package not in NEWEST or not constraint or "|" in constraint:
        return
    specifier = ",".join(_conda_part(part) for part in constraint.split(","))
    yield from _stated(package, specifier, file, line, remarks)


def _conda_part(part: str) -> str:
    operator, version = re.fullmatch(r"\s*([<>=!~]*)\s*(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
    version = re.split(r"[=\s]", version)[0]
    wild = operator == "=" or version.endswith("*")
    if operator in ("", "=", "=="):
        return f"=={version.rstrip('*').rstrip('.')}.*" if wild else f"=={version}"
    return f"{operator}{version}"
