"""How long networks take on this machine: measured whole, or added up from a table of measured layers."""
