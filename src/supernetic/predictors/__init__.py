"""Predictors: rank all architectures of a space from a few labels and from what is known without training."""

from .active import informative
from .features import Described, Features, normal_scores
from .gp import GaussianProcess
from .neighbourhoods import with_neighbourhoods
from .weighted import WeightedProcess, stratified

__all__ = [
    "Described",
    "Features",
    "GaussianProcess",
    "WeightedProcess",
    "informative",
    "normal_scores",
    "stratified",
    "with_neighbourhoods",
]
