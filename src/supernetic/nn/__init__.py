"""Blueprints as torch modules. `run` says what a layer computes; networks and supernets both run it."""
