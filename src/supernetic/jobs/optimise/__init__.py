"""`optimise`: search a space for the best values of any function."""
