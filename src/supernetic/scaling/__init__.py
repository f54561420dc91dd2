"""Scaling a base network: budgets, lists of strategies, what is sampled, and growth beyond what was searched."""
