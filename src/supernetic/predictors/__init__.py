"""Predictors: rank all architectures of a space from a few labels and from what is known without training."""

from .features import Described, Features, normal_scores
from .gp import GaussianProcess

__all__ = ["Described", "Features", "GaussianProcess", "normal_scores"]
