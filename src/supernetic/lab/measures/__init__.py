"""What a study measures on its trainings, one measure a file."""
