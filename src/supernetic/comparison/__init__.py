"""Comparison: derived networks and their controls, trained alike, each once."""
