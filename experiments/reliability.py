"""The campaign against the command line, in pieces that can be run one at a time: bad inputs, environments, kills.

    python experiments/reliability.py [FOLDER]     all pieces that FOLDER has no result of, then the record

The table of cases is in tests/campaign. A piece is one process of its tools; its last line, JSON, is kept in FOLDER.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import Record

TOOLS = Path(__file__).parent.parent / "tests" / "campaign"
KINDS = {  # of bad inputs, and into how many pieces each is cut
    "damaged file": 16, "number": 4, "path": 4, "model": 4, "name": 4, "special file": 2, "data": 2, "setting": 1,
    "wrong run": 1, "space file": 1, "limit": 1, "request": 1, "recipe": 1, "study": 1, "table": 1, "objective": 1,
    "TOML": 1, "prior": 1,
}  # fmt: skip
JOBS = ("train", "supernet", "ensemble", "table", "select", "study")
ENVIRONMENT_PIECES = 6
ALONE = 12  # every so many-th case is also run as a process that nobody prepared


def pieces(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Names of pieces, and the command of each."""
    for kind, count in KINDS.items():
        for i in range(count):
            arguments = ["--only", kind, "--sample", str(count), "--first", str(i), "--folder", str(folder / "cases")]
            yield f"{kind} {i}", ["campaign.py", *arguments, "--subprocess", str(ALONE)]
    for i in range(ENVIRONMENT_PIECES):
        yield f"environments {i}", ["environments.py", "--sample", str(ENVIRONMENT_PIECES), "--first", str(i)]
    for job in JOBS:
        yield f"kills {job}", ["kills.py", job]


def result(name: str, command: list[str], folder: Path) -> Any:
    """Of a piece, run now unless it was run before."""
    file = folder / f"{name}.json"
    if not file.exists():
        before = os.times()
        done = subprocess.run([sys.executable, str(TOOLS / command[0]), *command[1:]], capture_output=True, text=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        lines = done.stdout.splitlines()
        found = {**json.loads(lines[-1]), "failed": lines[:-1] if done.returncode else [], "cpu": cpu}
        file.write_text(json.dumps(found), encoding="utf-8")
        print(f"{time.strftime('%H:%M')} {name}: {lines[-1][:150]}", flush=True)
    return json.loads(file.read_text(encoding="utf-8"))


def main() -> None:
    """Run what is missing and write the record."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="campaign-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: result(name, command, folder) for name, command in pieces(folder)}
    cases = [r for r in found.values() if "cases" in r]
    environments = [r for r in found.values() if "environments" in r]
    kills = Counter({job: n for r in found.values() if "kills" in r for job, n in r["kills"].items()})
    failures = [line for r in found.values() for line in r["failed"]]
    distinct = sum(r["distinct"] for r in cases)
    obtained = {
        "cases": distinct,
        "refused": sum(r["refused"] for r in cases),
        "answered": sum(r["answered"] for r in cases),
        "in processes of their own": sum(r["in processes of their own"] for r in cases),
        "environments": sum(r["environments"] for r in environments),
        "kills": sum(kills.values()),
        "kills by job": dict(kills),
        "failures": len(failures),
    }
    Record(
        name="reliability",
        claim="Nothing given breaks it: bad input is one line and exit code 2, kills and surroundings lose nothing",
        source="ours: tests/campaign",
        expected={"failures": 0},
        obtained=obtained,
        n=distinct + obtained["environments"] + obtained["kills"],
        held=not failures,
        sentence=f"{distinct:,} bad inputs, {obtained['environments']} environments and {obtained['kills']} kills: "
        f"{len(failures)} failures." + "".join(f" {line}" for line in failures[:20]),
        cpu_minutes=round(sum(r["cpu"] for r in found.values()) / 60, 1),
    ).write()


if __name__ == "__main__":
    main()
