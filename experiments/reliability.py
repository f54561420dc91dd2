"""The campaign against the command line, in pieces that can be run one at a time: bad inputs, environments, kills.

    python experiments/reliability.py FOLDER            all pieces that FOLDER has no result of, then the record
    python experiments/reliability.py FOLDER MINUTES    no new piece is begun after so many minutes; the record says so

The table of cases is in tests/campaign. A piece is one process of its tools; its last line, JSON, is kept in FOLDER.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import Record

from supernetic.text import printable

TOOLS = Path(__file__).parent.parent / "tests" / "campaign"
KINDS = {  # of bad inputs, and into how many pieces each is cut
    "damaged file": 16, "number": 4, "path": 4, "model": 4, "name": 4, "special file": 2, "data": 2, "setting": 1,
    "wrong run": 1, "space file": 1, "limit": 1, "request": 1, "recipe": 1, "study": 1, "table": 1, "objective": 1,
    "TOML": 1, "prior": 1,
}  # fmt: skip
STARVED = ("train", "supernet", "ensemble", "transfer")
JOBS = ("train", "supernet", "ensemble", "race", "finish", "transfer", "detect", "start", "table", "select", "study")
ENVIRONMENT_PIECES = 6
LONGEST_LINE = 160  # characters of a failure in the record
ALONE = 30  # every so many-th case is also run as a process that nobody prepared


def pieces(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Names of pieces, and the command of each; a piece of every kind of bad input before the next of any."""
    for job in JOBS:
        yield f"kills {job}", ["kills.py", job]
    for i in range(ENVIRONMENT_PIECES):
        yield f"environments {i}", ["environments.py", "--sample", str(ENVIRONMENT_PIECES), "--first", str(i)]
    for job in STARVED:
        yield f"memory {job}", ["memory.py", job]
    for i in range(max(KINDS.values())):
        for kind in (k for k, count in KINDS.items() if i < count):
            sample = ["--sample", str(KINDS[kind]), "--first", str(i), "--subprocess", str(ALONE)]
            yield f"{kind} {i}", ["campaign.py", "--only", kind, *sample, "--folder", str(folder / "cases")]


def result(name: str, command: list[str], folder: Path) -> Any:
    """Of a piece, run now unless it was run before."""
    file = folder / f"{name}.json"
    if not file.exists():
        before = os.times()
        done = subprocess.run([sys.executable, str(TOOLS / command[0]), *command[1:]], capture_output=True, text=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        lines = done.stdout.splitlines()
        if not lines or not lines[-1].startswith("{"):
            raise RuntimeError(f"{name}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
        found = {**json.loads(lines[-1]), "failed": [line[2:] for line in lines if line.startswith("- ")], "cpu": cpu}
        file.write_text(json.dumps(found), encoding="utf-8")
        print(f"{time.strftime('%H:%M')} {name}: {lines[-1][:150]}", flush=True)
    return json.loads(file.read_text(encoding="utf-8"))


def main() -> None:
    """Run what is missing and write the record."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * float(sys.argv[2] if len(sys.argv) > 2 else "inf")
    found, every = {}, list(pieces(folder))
    for name, command in every:
        if time.monotonic() <= until or (folder / f"{name}.json").exists():
            found[name] = result(name, command, folder)
    cases = [r for r in found.values() if "cases" in r]
    environments = [r for r in found.values() if "environments" in r]
    kills = Counter({job: n for r in found.values() if "kills" in r for job, n in r["kills"].items()})
    starved = {job: n for r in found.values() if "starved" in r for job, n in r["starved"].items()}
    failures = [printable(line)[:LONGEST_LINE] for r in found.values() for line in r["failed"]]
    distinct = sum(r["distinct"] for r in cases)
    hungry = sum(n["refused"] for n in starved.values())
    obtained = {
        "cases": distinct,
        "refused": sum(r["refused"] for r in cases),
        "answered": sum(r["answered"] for r in cases),
        "in processes of their own": sum(r["in processes of their own"] for r in cases),
        "environments": sum(r["environments"] for r in environments),
        "kills": sum(kills.values()),
        "kills by job": dict(kills),
        "times that memory ran out": hungry,
        "failures": len(failures),
        "pieces": len(found),
        "pieces in all": len(every),
    }
    left_out = f" {len(every) - len(found)} of {len(every)} pieces were not run." if len(found) < len(every) else ""
    Record(
        name="reliability",
        claim="Nothing given breaks it: bad input is one line and exit code 2, kills and surroundings lose nothing",
        source="ours: tests/campaign",
        expected={"failures": 0},
        obtained=obtained,
        n=distinct + obtained["environments"] + obtained["kills"] + hungry,
        held=not failures,
        sentence=f"{distinct:,} bad inputs, {obtained['environments']} environments, {obtained['kills']} kills and "
        f"{hungry} starts without enough memory: {len(failures)} failure{'' if len(failures) == 1 else 's'}.{left_out}"
        + "".join(f" {line}." for line in failures[:20]),
        cpu_minutes=round(sum(r["cpu"] for r in found.values()) / 60, 1),
    ).write()


if __name__ == "__main__":
    main()
