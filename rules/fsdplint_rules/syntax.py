"""Files that their real loader cannot read, and what reading hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.document import Mapping, Sequence
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Document, Node, Path, Span


class SyntaxFault(Rule):
    """## What it does
    Finds what the dialect's real loader (PyYAML's SafeLoader, OmegaConf, tomllib, json) cannot read.

    ## Why it matters
    The run stops before the first line of training code.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config: [
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config: {}
    ```

    ## Versions and evidence
    accelerate 1.15.0, transformers 5.24.0 and axolotl 0.19.0 call yaml.safe_load (read); the traps were run with PyYAML 6.0.
    """

    code, name, severity = "FSD001", "syntax-error", Severity.ERROR
    scope = "file"
    needs_tree = False

    def check(self, context: Context) -> Iterator[Finding]:
        for problem in context.document.problems:
            if problem.kind != "duplicate-key":
                at = Place(context.document, (), (problem.span.start, problem.span.end))
                yield self.finding(at, problem.message, help=problem.hint)


class DuplicateKey(Rule):
    """## What it does
    Finds the same key twice in one mapping.

    ## Why it matters
    PyYAML and json silently keep the last one: the first, perhaps the reviewed one, is not in force. OmegaConf and tomllib refuse the file.

    ## Example
    ```yaml
    distributed_type: FSDP
    mixed_precision: bf16
    mixed_precision: fp16
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    mixed_precision: bf16
    ```

    ## Versions and evidence
    acc-duplicate-keys (run with accelerate 1.15.0 and PyYAML 6.0); OmegaConf 2.4.0 raises (run).
    """

    code, name, severity = "FSD002", "duplicate-key", Severity.WARNING
    scope = "file"
    needs_tree = False
    facts = ("acc-duplicate-keys", "TT028-dup-keys")

    def check(self, context: Context) -> Iterator[Finding]:
        document = context.document
        refused = any(problem.kind == "duplicate-key" for problem in document.problems)
        for path, first, later in document.duplicates:
            at = Place(document, path, (later.key_span.start, later.key_span.end))
            earlier = Place(document, path, (first.key_span.start, first.key_span.end))
            says = f"the {document.loader} loader refuses the file" if refused else "the last one wins, this earlier value is dropped"
            message = f"duplicate key `{path[-1]}`: {says}" if refused else f"duplicate key `{path[-1]}`: the last one wins silently"
            yield self.finding(
                at,
                message,
                outcome="refused" if refused else "ignored",
                related=[(earlier, says if not refused else "first here")],
                help="keep one of them",
            )
        if document.format == "toml":
            yield from self._in_toml(document)

    def _in_toml(self, document: Document) -> Iterator[Finding]:
        """TOML's loader stops at the second key, so that the tree holds the first alone."""
        for problem in document.problems:
            if problem.kind == "duplicate-key":
                earlier = [span for _, span in problem.related]
                path = _path_at(document, earlier[0]) if earlier else ()
                at = Place(document, path, (problem.span.start, problem.span.end))
                related = [(Place(document, path, (span.start, span.end)), "first here") for span in earlier]
                fault = f"{problem.message}: tomllib refuses the file"
                yield self.finding(at, fault, outcome="refused", related=related, help="keep one of them")


def _path_at(document: Document, span: Span) -> Path:
    """The path of the key, or of the table header, that is written at a place; empty where none is."""
    rest: list[tuple[Path, Node | None]] = [((), document.root)]
    while rest:
        path, node = rest.pop()
        if isinstance(node, Mapping):
            for name, entry in node.items():
                if span in (entry.key_span, getattr(entry.value, "header", None)):
                    return (*path, name)
                rest.append(((*path, name), entry.value))
        elif isinstance(node, Sequence):
            rest.extend(((*path, index), item) for index, item in enumerate(node.items))
    return ()


class BadSuppression(Rule):
    """## What it does
    Finds `# fsdplint: ignore[...]` comments that silence nothing or name no rule.

    ## Why it matters
    A suppression that outlives its reason hides the next fault.

    ## Example
    ```yaml
    distributed_type: FSDP  # fsdplint: ignore[FSD999]
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    ```

    ## Versions and evidence
    Not upstream's matter.
    """

    code, name, severity = "FSD008", "bad-suppression", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:  # noqa: ARG002
        """Nothing: suppressions are judged once all other rules have spoken (fsdplint.suppressions)."""
        yield from ()


RULES = (SyntaxFault(), DuplicateKey(), BadSuppression())
