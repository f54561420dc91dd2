"""supernetic: weight-sharing neural architecture search with exact budgets and honest rankings."""

__version__ = "0.1.0"
