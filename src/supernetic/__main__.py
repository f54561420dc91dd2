"""`python -m supernetic`, which `torchrun -m supernetic train ...` needs."""

from .cli import main

main()
