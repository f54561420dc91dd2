"""`python -m supernetic.cli`."""

from . import main

main()
