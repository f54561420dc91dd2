"""Families of models: networks of one kind in many sizes, to find out which kind suits some data.

`catalog.models` makes members of them from text.
"""

from .candidate_model import CandidateModel, Family, Plain

__all__ = ["CandidateModel", "Family", "Plain"]
