"""Refuse files above 1 MB: run outputs and weights do not belong into the repository."""

import os
import sys

MOST = 1_000_000

large = [f"{name}: {os.path.getsize(name):,} bytes" for name in sys.argv[1:] if os.path.getsize(name) > MOST]
print("\n".join(large), end="\n" if large else "")
sys.exit(bool(large))
