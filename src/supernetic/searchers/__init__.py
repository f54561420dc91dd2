"""Searchers: generators that yield architectures and receive trials. `drive` evaluates, records and resumes."""

from .drive import drive
from .task import Searcher, Task, Trial

__all__ = ["Searcher", "Task", "Trial", "drive"]
