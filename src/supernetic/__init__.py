"""supernetic: weight-sharing neural architecture search with exact budgets and honest rankings.

    >>> import supernetic
    >>> supernetic.cost("attentive", "attentive-a0").macs
    203389568

Names are resolved on first use, so that `import supernetic` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from .blueprint import Blueprint, Layer
    from .catalog import space as load_space
    from .catalog import table as load_table
    from .commands.build import build
    from .commands.convert import convert
    from .commands.cost import cost
    from .commands.derive import derive
    from .commands.export import export
    from .commands.extract import extract
    from .commands.features import features
    from .commands.find_boxes import find_boxes
    from .commands.latency import latency
    from .commands.predict import predict
    from .commands.rank.command import rank
    from .commands.read_request import read_request
    from .commands.report import report
    from .commands.resume import resume
    from .commands.sample import sample
    from .commands.spaces import list_spaces
    from .datasets import Data
    from .errors import InputError, SupernetError
    from .evaluators.supernet import SupernetEvaluator
    from .exporters.fine_tuned import save
    from .exporters.model import load_model as load
    from .exporters.timm_registry import register_timm
    from .exporters.transform import transform
    from .jobs.detect.job import detect
    from .jobs.finish.job import finish
    from .jobs.optimise.job import optimise
    from .jobs.scale.job import scale
    from .jobs.search.job import search
    from .jobs.search.table_search import search_table
    from .jobs.select.job import select
    from .jobs.train.job import train
    from .jobs.transfer.job import transfer
    from .lab.job import study
    from .nn.network import Network
    from .objective import Constraint, Objective
    from .parallel.cluster import cluster
    from .runs.directory import Run
    from .samplers.attentive import Attentive
    from .samplers.sandwich import Sandwich
    from .samplers.step import Draw, SampledPath, Step
    from .samplers.strict_fair import StrictFair
    from .samplers.uniform import Uniform
    from .space import Arch, Choice, SequentialSpace, Space
    from .spaces.declared import declare
    from .spaces.macro import Macro
    from .supernets.supernet import Supernet
    from .training.step import backward, batch_score
    from .trials import Trials, read_trials

_HOMES = {
    "Arch": "space",
    "Attentive": "samplers.attentive",
    "Blueprint": "blueprint",
    "Choice": "space",
    "Constraint": "objective",
    "Data": "datasets",
    "Draw": "samplers.step",
    "InputError": "errors",
    "Layer": "blueprint",
    "Macro": "spaces.macro",
    "Network": "nn.network",
    "Objective": "objective",
    "Run": "runs.directory",
    "SampledPath": "samplers.step",
    "Sandwich": "samplers.sandwich",
    "SequentialSpace": "space",
    "Space": "space",
    "Step": "samplers.step",
    "StrictFair": "samplers.strict_fair",
    "Supernet": "supernets.supernet",
    "SupernetError": "errors",
    "Trials": "trials",
    "SupernetEvaluator": "evaluators.supernet",
    "Uniform": "samplers.uniform",
    "backward": "training.step",
    "batch_score": "training.step",
    "build": "commands.build",
    "cluster": "parallel.cluster",
    "convert": "commands.convert",
    "cost": "commands.cost",
    "declare": "spaces.declared",
    "derive": "commands.derive",
    "detect": "jobs.detect.job",
    "export": "commands.export",
    "extract": "commands.extract",
    "features": "commands.features",
    "find_boxes": "commands.find_boxes",
    "finish": "jobs.finish.job",
    "latency": "commands.latency",
    "list_spaces": "commands.spaces",
    "load": "exporters.model:load_model",
    "load_space": "catalog:space",  # not `space`: that is a module
    "load_table": "catalog:table",
    "optimise": "jobs.optimise.job",
    "predict": "commands.predict",
    "rank": "commands.rank.command",
    "read_request": "commands.read_request",
    "read_trials": "trials",
    "register_timm": "exporters.timm_registry",
    "report": "commands.report",
    "resume": "commands.resume",
    "sample": "commands.sample",
    "save": "exporters.fine_tuned",
    "scale": "jobs.scale.job",
    "search": "jobs.search.job",
    "search_table": "jobs.search.table_search",
    "select": "jobs.select.job",
    "study": "lab.job",
    "train": "jobs.train.job",
    "transfer": "jobs.transfer.job",
    "transform": "exporters.transform",
}

__all__ = [
    "Arch",
    "Attentive",
    "Blueprint",
    "Choice",
    "Constraint",
    "Data",
    "Draw",
    "InputError",
    "Layer",
    "Macro",
    "Network",
    "Objective",
    "Run",
    "SampledPath",
    "Sandwich",
    "SequentialSpace",
    "Space",
    "Step",
    "StrictFair",
    "Supernet",
    "SupernetError",
    "SupernetEvaluator",
    "Trials",
    "Uniform",
    "backward",
    "batch_score",
    "build",
    "cluster",
    "convert",
    "cost",
    "declare",
    "derive",
    "detect",
    "export",
    "extract",
    "features",
    "find_boxes",
    "finish",
    "latency",
    "list_spaces",
    "load",
    "load_space",
    "load_table",
    "optimise",
    "predict",
    "rank",
    "read_request",
    "read_trials",
    "register_timm",
    "report",
    "resume",
    "sample",
    "save",
    "scale",
    "search",
    "search_table",
    "select",
    "study",
    "train",
    "transfer",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'supernetic' has no attribute {name!r}")
    module, _, other = _HOMES[name].partition(":")
    return getattr(import_module(f".{module}", __name__), other or name)


def __dir__() -> list[str]:
    return __all__
