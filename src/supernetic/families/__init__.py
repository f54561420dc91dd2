"""Families of models: networks of one kind in many sizes, to find out which kind suits some data.

`model_names.parse_models` makes models of them from text.
"""

from .candidate_model import CandidateModel, Family, ModuleSpec

__all__ = ["CandidateModel", "Family", "ModuleSpec"]
