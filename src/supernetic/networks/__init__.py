"""Finished networks: trained each once, in a run of their own, beside controls and baselines."""
