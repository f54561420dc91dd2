"""`finish`: a network of a finished run is trained further, and everything that speaks of it is written anew."""
