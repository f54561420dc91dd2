"""What a study measures on its trained supernets: one measure per file."""
