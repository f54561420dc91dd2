"""Latency on this machine: networks are timed whole, or their layers are looked up in a table of measured ones."""
