"""Jobs: minutes to days of work in a run directory that survives any interruption."""
