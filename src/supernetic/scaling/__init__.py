"""Scaling a base network: budgets, lists of strategies, what is sampled, and growth beyond the searched stages."""
