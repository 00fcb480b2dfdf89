"""Code actions: fixes, comments that silence, and presets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lsprotocol import types

from fsdplint.diagnostics import Edit
from fsdplint.lsp.judging import request_for
from fsdplint.lsp.line_edits import line_edits
from fsdplint.lsp.text import BOM
from fsdplint.lsp.translation import diagnostic_of, workspace_edit
from fsdplint.rewriting import PRESETS, Aim, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsdplint.diagnostics import Diagnostic
    from fsdplint.lsp.judging import Judged
    from fsdplint.lsp.text import Text
    from fsdplint.lsp.translation import TextOf
    from fsdplint.request import Request

QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.fsdplint"
REWRITE = "refactor.rewrite.fsdplint"
KINDS = (QUICK_FIX, FIX_ALL, REWRITE)
"""The kinds of the actions, broader first: of rewriting there is one for each preset."""

SILENT = ("FSD008",)
"""Rules about comments: another comment would be no answer."""


class Page(NamedTuple):
    """A judged document, its text as the client has it, and what the client can do: ``versioned`` edits, and ``lazy`` ones."""

    judged: Judged
    text: Text
    text_of: TextOf
    versioned: bool
    lazy: bool


class Written(NamedTuple):
    """New text as an edit, None where there is none, and what the user has to know."""

    edit: types.WorkspaceEdit | None
    remarks: tuple[str, ...] = ()


def actions(page: Page, request: Request, where: types.Range, only: Sequence[str] | None, *, is_asked: bool) -> Iterator[types.CodeAction]:
    """What can be done at a place; ``only``: the kinds that are wanted. ``is_asked``: the user asks, it is not only for a light bulb."""
    start = page.text.offset(where.start.line, where.start.character)
    end = page.text.offset(where.end.line, where.end.character)
    if is_wanted(QUICK_FIX, only):
        touched = [d for d in page.judged.diagnostics if d.range.start.offset <= end and start <= d.range.end.offset]
        for action in (fix_action, silence_action):
            yield from (found for diagnostic in touched if (found := action(page, diagnostic)) is not None)
    if is_wanted(FIX_ALL, only) and any(d.fix is not None and d.fix.applicability == "safe" for d in page.judged.diagnostics):
        yield from _with_edit(page, request, types.CodeAction("Apply all safe fixes of fsdplint", kind=FIX_ALL, data=_data(page, FIX_ALL)))
    for preset in PRESETS if (is_asked or only) and _is_rewritable(page) else ():
        kind = f"{REWRITE}.{preset}"
        if is_wanted(kind, only):
            yield from _with_edit(page, request, types.CodeAction(f"Rewrite into preset {preset}", kind=kind, data=_data(page, kind)))


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether actions of a kind are asked for: all kinds, the kind itself or a broader one."""
    return only is None or any(not one or kind == one or kind.startswith(f"{one}.") for one in only)


def fix_action(page: Page, diagnostic: Diagnostic) -> types.CodeAction | None:
    """The fix of a diagnostic, if ``fix`` would keep it."""
    fix = diagnostic.fix
    if fix is None or not page.judged.is_kept(diagnostic):
        return None
    is_safe = fix.applicability == "safe"
    message = fix.message[:1].upper() + fix.message[1:]
    return types.CodeAction(
        title=message if is_safe else f"{message} (unsafe: changes what runs)",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic_of(diagnostic, page.judged, page.text, page.text_of)],
        is_preferred=is_safe or None,
        edit=_edit(page, fix.edits),
    )


def silence_action(page: Page, diagnostic: Diagnostic) -> types.CodeAction | None:
    """A comment that silences a diagnostic's rule on its line; None where there can be none, as in JSON."""
    insertion = None if diagnostic.code in SILENT else page.judged.silenced(diagnostic)
    if insertion is None:
        return None
    return types.CodeAction(
        title=f"Silence {diagnostic.code} ({diagnostic.name}) on this line",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic_of(diagnostic, page.judged, page.text, page.text_of)],
        edit=_edit(page, [Edit(diagnostic.path, insertion.offset, insertion.offset, insertion.text)]),
    )


def written(page: Page, request: Request, kind: str) -> Written:
    """What an action of a kind whose edit is worked out late would write. Raises what ``fsdplint.rewriting.rewrite`` raises."""
    path = page.judged.document.path
    if kind == FIX_ALL:
        new = page.judged.mended().changes.get(path, (b"", None))[1]
        return Written(_changed(page, new), () if new is not None else ("none of the fixes can be applied",))
    preset = kind.removeprefix(f"{REWRITE}.")
    if preset not in PRESETS:
        return Written(None)
    done = rewrite(request_for(request, page.judged.document), Aim(preset), dry=True)
    new = next((change.new for change in done.fixed.changes if change.path == path), None)
    remarks = [f"not rewritten: {reason}" for _, reason in done.refusals] + [note for _, note in done.notes]
    return Written(_changed(page, new), tuple(remarks or ([f"the file says {preset} already"] if new is None else [])))


def _is_rewritable(page: Page) -> bool:
    config = page.judged.config
    return config is not None and not config.file.dialect.is_companion


def _with_edit(page: Page, request: Request, action: types.CodeAction) -> Iterator[types.CodeAction]:
    """The action, with its edit where the client cannot ask for it later; nothing where there is none."""
    if not page.lazy:
        action.edit, action.data = written(page, request, str(action.kind)).edit, None
        if action.edit is None:
            return
    yield action


def _data(page: Page, kind: str) -> dict[str, Any]:
    return {"uri": page.judged.document.uri, "kind": kind}


def _changed(page: Page, new: bytes | None) -> types.WorkspaceEdit | None:
    if new is None:
        return None
    path = page.judged.document.path
    return _edit(page, line_edits(path, page.text.body, new.decode("utf-8").removeprefix(BOM)))


def _edit(page: Page, edits: Any) -> types.WorkspaceEdit:
    document = page.judged.document
    return workspace_edit(document.uri, document.version, page.text, edits, versioned=page.versioned)
