"""Files of Lightning (2.0.0 to 2.6.6): LightningCLI, Hydra's Trainer and strategy groups, Fabric; and of NeMo 1.x, which stands on it."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.lightning_plan import Reading
from fsdplint.dialects.lightning_shapes import CLI_KEYS, Shape, has_class_path, shape_of, table_of, whole
from fsdplint.dialects.nemo import Nemo, is_nemo
from fsdplint.document import Mapping
from fsdplint.plan import is_placeholder

if TYPE_CHECKING:
    from fsdplint.dialects.table import Table
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_TELLING = frozenset(
    [
        *("strategy", "accelerator", "devices", "num_nodes", "precision", "gradient_clip_val", "gradient_clip_algorithm"),
        *("sync_batchnorm", "accumulate_grad_batches", "limit_train_batches", "limit_val_batches", "check_val_every_n_epoch"),
        *("log_every_n_steps", "num_sanity_val_steps", "enable_checkpointing", "max_epochs", "barebones", "plugins"),
        *("fast_dev_run", "gpus"),
    ]
)
"""Arguments of the Trainer that few other sections called ``trainer`` have."""

_FABRIC = frozenset({"accelerator", "strategy", "devices", "num_nodes", "precision", "plugins", "callbacks", "loggers"})


class Lightning(Dialect):
    """A file of LightningCLI, or a mapping from which Hydra or the project builds a Trainer, a Fabric or a strategy."""

    name = "lightning"
    package = "lightning"
    title = "Lightning"

    def recognise(self, document: Document) -> int:
        """By classes of Lightning that the file names, else by a section of keys that only the Trainer has."""
        if is_nemo(document):
            return 96
        shape = shape_of(document)
        if shape is None:
            return 0
        if shape.host == "strategy":
            return 95 if shape.is_stock else 60
        host = document.node(shape.at) if shape.at else document.root
        if not isinstance(host, Mapping) or not isinstance(document.root, Mapping):
            return 0
        if shape.reader == "stock":
            return 96
        return _certainty(document.root, host, shape)

    def for_document(self, document: Document) -> Dialect:
        return _nemo() if is_nemo(document) else _form(shape_of(document) or Shape())


class Form(Lightning):
    """One form of Lightning's files."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.loader = "pyyaml" if shape.reader == "cli" else "omegaconf"

    @cached_property
    def table(self) -> Table:
        """The options of this form."""
        return table_of(self.shape)

    def for_document(self, document: Document) -> Dialect:
        return Lightning.for_document(self, document)

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        Reading(plan, document, self.shape).settle()

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """The file of DeepSpeed's settings."""
        path = (*self.shape.arguments_at, "config")
        value = document.value(path) if self.shape.strategy == "DeepSpeedStrategy" else None
        return [(".".join(path), value)] if isinstance(value, str) and not is_placeholder(value) else []


@cache
def _form(shape: Shape) -> Form:
    return Form(shape)


@cache
def _nemo() -> Nemo:
    return Nemo()


def _certainty(root: Mapping, host: Mapping, shape: Shape) -> int:
    """How sure a section without a class of Lightning's is."""
    keys = [key for key, _ in host.items() if not key.startswith("_") and key != "defaults"]
    if shape.host == "fabric":
        return 70 if len(_FABRIC.intersection(keys)) >= 2 and _FABRIC.issuperset(keys) else 0
    telling = len(_TELLING.intersection(keys))
    if shape.reader == "cli" and telling and has_class_path(root, host):
        return 90
    known = whole().part("trainer")["properties"]
    share = sum(key in known for key in keys)
    if shape.reader == "cli" and CLI_KEYS.issuperset(root.keys()):
        return 75 if telling and share * 2 > len(keys) else 0
    if shape.is_stock and shape.strategy:
        return 85
    return 65 if telling >= 2 and share == len(keys) else 0
