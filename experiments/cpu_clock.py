"""A command of supernetic by another clock: processor time of this process in place of the time on the wall.

    python experiments/cpu_clock.py transfer efficientnet-lite0 photos/ --minutes 10 --workers 1

On a machine that others use too, equal times on the wall are unequal amounts of work. A command with `--workers 1` and
one thread does all of its work in this process, so that `--minutes` are processor-minutes.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
time.perf_counter = time.process_time  # before anything imports it by name

if __name__ == "__main__":
    from supernetic.cli import main

    main()
