"""Searchers: generators that yield architectures and receive trials. `run_search` evaluates, records and resumes."""

from .problem import Searcher, SearchProblem, Trial
from .runner import run_search

__all__ = ["SearchProblem", "Searcher", "Trial", "run_search"]
