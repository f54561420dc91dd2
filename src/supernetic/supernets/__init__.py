"""Supernets: one set of weights for all networks of a space."""
