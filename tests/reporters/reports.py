"""A report with all that a reporter must cope with, made from a small text."""

from __future__ import annotations

from fsdplint.diagnostics import Diagnostic, Edit, FileStatus, Fix, Place, Related, Report, RuleInfo, Severity, TargetInfo, resolve
from fsdplint.document import parse

TEXT = """\
base_model: "日本 語"
fsdp:
\t- x
fsdp_config: {version: 1}  # 😀 note
deepspeed: zero3.json
"""
PATH = "conf/a b,c.yaml"
DOCUMENT = parse(TEXT.replace("\t- x", "  - full_shard"), PATH)


def diagnostic(code: str, severity: Severity, path: tuple[str, ...], part: str = "value", **more: object) -> Diagnostic:
    """A diagnostic at a place of the small document."""
    key, where, snippet = resolve(Place(DOCUMENT, path, part))
    names = {"FSD101": "fsdp-with-deepspeed", "FSD404": "renamed-key", "FSD601": "no-wrap-policy"}
    base = Diagnostic(code, names[code], severity, f"message of {code}", None, PATH, "axolotl", key, where, snippet)
    return base._replace(**more)  # type: ignore[arg-type]


def related(path: tuple[str, ...], message: str) -> Related:
    key, where, snippet = resolve(Place(DOCUMENT, path, "key"))
    return Related(message, PATH, key, where, snippet)


_FSDP = related(("fsdp",), "FSDP is switched on here")
ERROR = diagnostic("FSD101", Severity.ERROR, ("deepspeed",), message="100 % wrong: a,\nb", help="remove one", related=(_FSDP,))
_VERSION = DOCUMENT.key_span(("fsdp_config", "version"))
assert _VERSION is not None
FIX = Fix("rename the key", "safe", (Edit(PATH, _VERSION.start, _VERSION.end, "fsdp_version"),))
WARNING = diagnostic("FSD404", Severity.WARNING, ("fsdp_config", "version"), "key", fix=FIX, versions="transformers>=5")
INFO = diagnostic("FSD601", Severity.INFO, ("base_model",))
RULES = {code: RuleInfo(code, name, f"Finds {name}") for code, name in (("FSD101", "fsdp-with-deepspeed"), ("FSD404", "renamed-key"))}

FULL = Report(
    "1.2.3",
    (INFO, WARNING, ERROR),
    (
        FileStatus(PATH, "axolotl", "checked"),
        FileStatus("b.yaml", None, "skipped", "no config"),
        FileStatus("c.yaml", None, "failed", "gone"),
    ),
    {"axolotl": TargetInfo("==0.19.0", "newest known", False), "torch": TargetInfo(">=2.4", "--target", True)},
    suppressed=2,
    rules=RULES,
)
EMPTY = Report("1.2.3", (), (FileStatus(PATH, "axolotl", "checked"),), {})
NOTHING = Report("1.2.3", (), (), {})
LAUNCH = EMPTY._replace(diagnostics=(INFO._replace(path="<launch>", key="--fsdp"),))
"""A diagnostic in the launch line, which is no file."""
