"""Studies: many trainings that differ in one thing, and what that changes; their files, spreads, claims and tables."""
