"""Jobs with too little memory, again and again with a little more. They say what is missing, and lose nothing.

    python tests/campaign/memory.py              every job
    python tests/campaign/memory.py train        one of them

A job is started with `ulimit -v` a few megabytes above what its process has. Memory runs out somewhere: while a module
is imported, in a training, in an export. That must be told in one line with a figure and what to lower, exit code 2.
Then the same command is given a little more, until it comes to its end. The run must end with the bytes of a job that
had enough.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from keepsakes import make
from kills import JOBS, Job, begin, contents, start, undisturbed

STARVED = ("train", "supernet", "ensemble", "transfer")
MORE_MB = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
PAGE = os.sysconf("SC_PAGE_SIZE")


def starve(job: Job, folder: Path, run: str) -> tuple[int, int, list[str]]:
    """Start a job with more and more memory until it ends.

    Args:
        job: The job.
        folder: Where it runs.
        run: Its run directory.

    Returns:
        How often memory ran out, how often after the run had begun, and what was wrong with what was said.
    """
    later, faults = 0, list[str]()
    begin(job, folder, run)
    for refused, more in enumerate(MORE_MB):

        def limit(more: int = more) -> None:
            used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * PAGE
            resource.setrlimit(resource.RLIMIT_AS, (used + more * 10**6, used + more * 10**6))

        code = start(job, folder, run, limit)
        if code == 0:
            return refused, later, faults
        told = (folder / "err").read_text(encoding="utf-8", errors="backslashreplace").splitlines()
        later += (folder / run / "run.toml").exists()
        said = " ".join(told)
        if code != 2 or len(told) != 1 or "memory" not in said or "lower" not in said or "B" not in said:
            faults.append(f"{more} MB more: exit code {code}, {len(told)} lines: {said[-300:]}")
    raise RuntimeError(f"{job.command[0]} did not come to its end: {faults[-1] if faults else ''}")


def try_job(name: str, folder: Path) -> tuple[int, int, list[str]]:
    """Starve a job; how often memory ran out, how often after the run had begun, and what was wrong."""
    job = JOBS[name]
    make(folder)
    if job.prepare:
        job.prepare(folder)
    begin(job, folder, "whole")
    undisturbed(job, folder, "whole")
    refused, later, faults = starve(job, folder, "starved")
    whole, other = contents(folder / "whole"), contents(folder / "starved")
    differ = sorted(k for k in whole.keys() | other.keys() if whole.get(k) != other.get(k))
    return refused, later, [*faults, *(f"{file} differs" for file in differ)]


def main() -> None:
    """The tool."""
    import supernetic.jobs.search.job
    import supernetic.networks.training
    import supernetic.supernets.supernet  # noqa: F401

    starved, failures = {}, []
    with tempfile.TemporaryDirectory(prefix="memory-") as place:
        for name in sys.argv[1:] or STARVED:
            refused, later, faults = try_job(name, Path(place).resolve() / name)
            starved[name] = {"refused": refused, "after the run had begun": later}
            failures += [f"{name}: {fault}" for fault in faults]
            print(f"{name}: {starved[name]}", flush=True)
            for fault in faults:
                print(f"- {name}: {fault}", flush=True)
    print(json.dumps({"starved": starved, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
