"""The campaign against the command line: hundreds of bad inputs, hostile environments, kills. None may break anything.

    python tests/campaign/campaign.py                   all bad inputs
    python tests/campaign/campaign.py --only limit      those of one kind
    python tests/campaign/campaign.py --sample 10       every tenth, from --first on
    python tests/campaign/campaign.py --subprocess 25   every 25th as a process of its own too

`cases.py` has the table of bad inputs, `environments.py` and `kills.py` the others. Failures are listed; the last line
is JSON with the counts, which experiments/reliability.py records.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from cases import every_case
from harness import Case, Outcome, try_case
from keepsakes import COMMANDS, make

from supernetic.text import printable

RUNS = tuple(COMMANDS)
LIGHT_MODULES = (  # what commands import before they have looked at their options
    "cli", "jobs.search.job", "jobs.train.job", "jobs.scale.job", "jobs.finish.job", "lab.job", "commands.predict",
    "commands.robustness", "commands.latency", "commands.report", "commands.export", "commands.derive",
    "commands.resume", "commands.rank.command", "jobs.select.request", "datasets.check", "spaces.declared",
)  # fmt: skip
PROCESS_LIGHT_CPU_S = 1.5  # of a real process: Python and the command line are started in it


def run_cases(
    folder: Path,
    *,
    only: str = "",
    sample: int = 1,
    first: int = 0,
    subprocesses: int = 0,
    names: Sequence[str] = RUNS,
) -> list[Outcome]:
    """Try cases.

    Args:
        folder: For everything that is made on the way.
        only: Kind of cases; all by default.
        sample: Every so many-th case,
        first: from this one on.
        subprocesses: Every so many-th of these is run as a process of its own too; 0: none.
        names: Runs that are made; cases that need others are left out.

    Returns:
        What became of them.
    """
    kept = (folder / "kept").resolve()
    make(kept, *names)
    cases = [c for c in every_case(kept) if set(c.needs) <= set(names) and only in ("", c.kind)][first::sample]
    scratch = (folder / f"case-{os.getpid()}" / "here").resolve()  # others may try cases at the same time
    for module in LIGHT_MODULES:
        import_module(f"supernetic.{module}")
    assert "torch" not in sys.modules, "a module that a command imports at once imports torch"
    light = [try_case(c, scratch, kept) for c in cases if c.light]  # before torch is imported here
    processes = [try_process(c, scratch, kept) for c in cases[::subprocesses]] if subprocesses else []
    import supernetic.commands.report
    import supernetic.exporters.model
    import supernetic.jobs.search.job
    import supernetic.networks.training
    import supernetic.supernets.supernet  # noqa: F401

    return [*light, *processes, *(try_case(c, scratch, kept) for c in cases if not c.light)]


def try_process(case: Case, scratch: Path, kept: Path) -> Outcome:
    """The same as `try_case`, with the installed command in a process that nobody prepared."""
    from harness import prepared, verdict

    arguments, earlier = prepared(case, scratch, kept)
    before = os.times()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "supernetic.cli", *map(os.fsencode, arguments)], cwd=scratch, capture_output=True,
            timeout=120, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = -9, b"", b""
    except ValueError:  # no process can be given such an argument
        return Outcome(case, 2, "", "", 0.0)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    said, told = (t.decode(errors="backslashreplace") for t in (out, err))
    slow = case.light and cpu > PROCESS_LIGHT_CPU_S
    found = verdict(case, None if code < 0 else code, said, told, 0.0, False, earlier, scratch)
    faults = (*found, *([f"{cpu:.1f} CPU-seconds as a process"] if slow else []))
    return Outcome(case, code, said, told, cpu, faults, alone=True)


def main() -> None:
    """The tool."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--subprocess", type=int, default=0)
    parser.add_argument("--folder", default="")
    parser.add_argument(
        "--runs", default=",".join(RUNS), help="runs that are made; cases that need others are left out"
    )
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    folder = Path(given.folder or tempfile.mkdtemp(prefix="campaign-"))
    begin = time.monotonic()
    names = [name for name in given.runs.split(",") if name]
    outcomes = run_cases(
        folder, only=given.only, sample=given.sample, first=given.first, subprocesses=given.subprocess, names=names
    )
    failed = [o for o in outcomes if not o.held]
    for o in failed:
        last = o.err.strip().splitlines()[-1:] or [""]
        line = f"- {o.case.title}: {'; '.join(o.faults)}: {last[0][:300]}"
        print(printable(" ".join(line.split())))
    if given.verbose:
        for o in outcomes:
            print(f"{o.code} {o.cpu:6.2f} {o.case.title}\n    {o.err.strip()[:200]}")
    kinds = Counter(o.case.kind for o in outcomes)
    print(json.dumps({
        "cases": len(outcomes), "distinct": len({o.case.title for o in outcomes}), "failures": len(failed),
        "by kind": dict(kinds), "failed by kind": dict(Counter(o.case.kind for o in failed)),
        "refused": sum(o.code == 2 for o in outcomes), "answered": sum(o.code == 0 for o in outcomes),
        "in processes of their own": sum(1 for o in outcomes if o.alone),
        "minutes": round((time.monotonic() - begin) / 60, 1),
    }))  # fmt: skip
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
