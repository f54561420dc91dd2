"""Predictors: a few labels and what is known without training order all architectures of a space."""

from .features import Described, Features, normal_scores
from .gp import GaussianProcess

__all__ = ["Described", "Features", "GaussianProcess", "normal_scores"]
