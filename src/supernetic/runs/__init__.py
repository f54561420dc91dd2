"""The run directory: its files, its records, its request. The only room that knows the format."""
