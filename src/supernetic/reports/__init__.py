"""Reports: what a run directory says, for people. They read files only and never import torch."""

from .compare import compare_report
from .page import write_report
from .why import why

__all__ = ["compare_report", "why", "write_report"]
