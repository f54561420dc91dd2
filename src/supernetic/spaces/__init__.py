"""The search spaces, one file per paper. `catalog.space(name)` finds them by name."""
