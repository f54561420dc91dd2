"""What it costs that files reach the disk before they count as written: jobs with `fsync` and without, in turns.

    python benchmarks/durability.py [REPEATS]

Both ways are timed in one process and on one disk, so the ratio is what matters. Without, the same calls do nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

os.environ["OMP_NUM_THREADS"] = "1"

from supernetic.jobs.search.table_search import search_table
from supernetic.jobs.train.job import train
from supernetic.runs.directory import append_records, write_atomically

SPACE = "macro:channels=4,resolution=8,head=16"
FILES, RECORDS = 200, 2000


def files(place: Path) -> None:
    """Small files, one after the other."""
    for i in range(FILES):
        write_atomically(place / f"{i % 10}.json", "{}")


def records(place: Path) -> None:
    """Records, which wait for the next file."""
    for i in range(RECORDS):
        append_records(place / "trials.jsonl", [{"i": i}])
    write_atomically(place / "search.json", "{}")


def table(place: Path) -> None:
    """A search on a table."""
    search_table("nasbench201", evaluations=1000, out=place / "run")


def training(place: Path) -> None:
    """A short training of a small supernet, with a checkpoint every six steps."""
    train(SPACE, steps=60, limit=400, threads=1, out=place / "run")


def seconds(work: Callable[[Path], None]) -> float:
    """Of one piece of work in a new folder."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DURABILITY_DIR")) as folder:
        begin = perf_counter()
        work(Path(folder))
        return perf_counter() - begin


def main() -> None:
    """Print the table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    sync, calls = os.fsync, 0

    def counted(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        sync(descriptor)

    print(f"{'':<34}{'with':>10}{'without':>10}{'ratio':>8}{'calls':>8}")
    for work in (files, records, table, training):
        seconds(work)  # what is imported and cached on the way is not timed
        with_sync, without = [], []
        for _ in range(repeats):
            calls, os.fsync = 0, counted  # type: ignore[assignment]
            with_sync.append(seconds(work))
            os.fsync = lambda descriptor: None  # type: ignore[assignment]
            without.append(seconds(work))
        os.fsync = sync
        a, b = median(with_sync), median(without)
        print(f"{(work.__doc__ or '').strip():<34.33}{a:>9.3f}s{b:>9.3f}s{a / b:>8.2f}{calls:>8}")


if __name__ == "__main__":
    main()
