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
    from .catalog import space as load_space
    from .catalog import table as load_table
    from .errors import InputError, SupernetError
    from .exporters.model import load_model as load
    from .objective import Constraint, Objective
    from .pipeline.derive import derive
    from .pipeline.export import export
    from .pipeline.latency import latency
    from .pipeline.look import cost, list_spaces
    from .pipeline.predict import predict
    from .pipeline.rank import rank
    from .pipeline.report import report
    from .pipeline.resume import resume
    from .pipeline.sample import sample
    from .pipeline.scale.job import scale
    from .pipeline.search import search
    from .pipeline.select.job import select
    from .pipeline.study.job import study
    from .pipeline.train import train
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
    "derive": "pipeline.derive",
    "export": "pipeline.export",
    "latency": "pipeline.latency",
    "list_spaces": "pipeline.look",
    "load": "exporters.model:load_model",
    "load_space": "catalog:space",  # not `space`: that is a module
    "load_table": "catalog:table",
    "predict": "pipeline.predict",
    "rank": "pipeline.rank",
    "report": "pipeline.report",
    "resume": "pipeline.resume",
    "sample": "pipeline.sample",
    "scale": "pipeline.scale.job",
    "search": "pipeline.search",
    "select": "pipeline.select.job",
    "study": "pipeline.study.job",
    "train": "pipeline.train",
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
    "derive",
    "export",
    "latency",
    "list_spaces",
    "load",
    "load_space",
    "load_table",
    "predict",
    "rank",
    "report",
    "resume",
    "sample",
    "scale",
    "search",
    "select",
    "study",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'supernetic' has no attribute {name!r}")
    module, _, other = _HOMES[name].partition(":")
    return getattr(import_module(f".{module}", __name__), other or name)


def __dir__() -> list[str]:
    return __all__
