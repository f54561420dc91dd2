"""`train`: a supernet, and what its run gives to other jobs."""
