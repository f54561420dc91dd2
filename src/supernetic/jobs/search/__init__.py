"""`search`: from images and limits to finished models; or the same search on a benchmark table."""
