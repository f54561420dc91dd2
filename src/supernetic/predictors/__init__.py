"""Predictors: rank all architectures of a space from a few labels and from what is known without training."""

from .features import Described, Features, normal_scores
from .gp import GaussianProcess
from .weighted import WeightedProcess, stratified

__all__ = ["Described", "Features", "GaussianProcess", "WeightedProcess", "normal_scores", "stratified"]
