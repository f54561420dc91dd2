"""Evaluators: many architectures in, the metrics of each out.

An answer depends on the architecture and on the evaluator's own settings only, never on the order of calls.
"""

from .cost import CostEvaluator
from .evaluator import CombinedEvaluator, Evaluator
from .table import TableEvaluator

__all__ = ["CombinedEvaluator", "CostEvaluator", "Evaluator", "TableEvaluator"]
