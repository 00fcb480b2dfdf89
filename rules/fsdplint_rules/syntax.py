"""Files that their real loader cannot read, and what reading hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    facts = ("acc-duplicate-keys",)

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

    def check(self, context: Context) -> Iterator[Finding]:
        """Nothing: suppressions are judged once all other rules have spoken (fsdplint.suppressions)."""
        yield from ()


RULES = (SyntaxFault(), DuplicateKey(), BadSuppression())
