"""supernetic: weight-sharing neural architecture search with exact budgets and honest rankings.

    >>> import supernetic
    >>> supernetic.cost("attentive", "attentive-a0").macs
    203389568

Names are resolved on first use, so that `import supernetic` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .blueprint import Blueprint, Layer
    from .catalog import space, table
    from .errors import InputError, SupernetError
    from .objective import Constraint, Objective
    from .pipeline.look import cost, list_spaces
    from .pipeline.rank import rank
    from .pipeline.sample import sample
    from .pipeline.search import search
    from .run import Run
    from .space import Arch, Choice, SequentialSpace, Space
    from .spaces.declared import declare

_HOMES = {
    "Arch": "space",
    "Blueprint": "blueprint",
    "Choice": "space",
    "Constraint": "objective",
    "InputError": "errors",
    "Layer": "blueprint",
    "Objective": "objective",
    "Run": "run",
    "SequentialSpace": "space",
    "Space": "space",
    "SupernetError": "errors",
    "cost": "pipeline.look",
    "declare": "spaces.declared",
    "list_spaces": "pipeline.look",
    "rank": "pipeline.rank",
    "sample": "pipeline.sample",
    "search": "pipeline.search",
    "space": "catalog",
    "table": "catalog",
}

__all__ = [
    "Arch",
    "Blueprint",
    "Choice",
    "Constraint",
    "InputError",
    "Layer",
    "Objective",
    "Run",
    "SequentialSpace",
    "Space",
    "SupernetError",
    "cost",
    "declare",
    "list_spaces",
    "rank",
    "sample",
    "search",
    "space",
    "table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'supernetic' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
