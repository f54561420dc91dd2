"""Jobs that are killed again and again, at moments nobody chose, and end with the bytes of a job that was left alone.

    python tests/campaign/kills.py              every job
    python tests/campaign/kills.py ensemble     one of them

Each job is run once without interruption, then again: started, killed with SIGKILL (with all of its processes) after a
random time, started again, until it comes to its end. What is compared is listed in docs/reliability.md: everything but
the files that hold measured times.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from harness import forked
from keepsakes import ALONE, COMMANDS, SMALL, TINY, make

KILLS = 6  # of each job
MOST_STARTS = 60
# What may differ, as docs/reliability.md says: files of measured times and pages, and measured times in records.
NOT_COMPARED = {"timings.jsonl", "report.html", "index.html", "README.md", "latency.jsonl", ".lock"}
RECORDS = {"networks.json", "result.json", "model.json", "quantised.json", "run.toml"}
MEASURED = (
    "latency",
    "seconds",
    "/ms",
    "sha256",
)  # parts of the keys of such times; digests are of files that hold them
OF_PLACE = {"run", "page"}  # keys that say where the run is
JOBS: dict[str, tuple[str, ...]] = {
    "train": ("train", TINY, "--steps", "60", "--limit", "400", "--threads", "1"),
    "supernet": ("search", *SMALL, "--where", "macs<=60K", "--keep", "1", *ALONE),
    "ensemble": (  # the default score: a rank ensemble of proxies, without a supernet
        "search", "--space", "mixed:channels=4,resolution=8", "--supernet", "no", "--where", "macs<=100K",
        "--network-steps", "8", "--population", "4", "--generations", "2", "--keep", "1", "--limit", "400", *ALONE,
    ),
    "table": ("search", "--table", "nasbench201", "--evaluations", "400"),
    "select": COMMANDS["select"],
    "study": COMMANDS["study"],
}  # fmt: skip


def contents(run: Path) -> dict[str, str]:
    """Digests of the files of a run that must be the same; those with measured times as far as they are not times."""
    found = {}
    for path in sorted(p for p in run.rglob("*") if p.is_file() and p.name not in NOT_COMPARED):
        name = path.relative_to(run).as_posix()
        if path.name in RECORDS:
            text = path.read_text(encoding="utf-8")
            record = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
            found[name] = json.dumps(_untimed(record), sort_keys=True)
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _untimed(value: object) -> object:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in OF_PLACE and not any(word in k for word in MEASURED)}
        return {k: _untimed(v) for k, v in kept.items()}
    return [_untimed(v) for v in value] if isinstance(value, list) else value


def kill_at_random(command: list[str], folder: Path, run: Path, rng: random.Random, seconds: float) -> int:
    """Start a job and kill it until it has been killed often enough; then let it end. How often it was killed."""
    killed = 0
    for _ in range(MOST_STARTS):
        child = os.fork()
        if child == 0:
            _work(command, folder)
        until = time.monotonic() + (rng.uniform(0.05, seconds) if killed < KILLS else 600)
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                killed += 1
                break
            time.sleep(0.005)
        if os.waitstatus_to_exitcode(status) == 0:
            if killed >= KILLS:
                return killed
            shutil.rmtree(run)  # it ended before enough kills: once more from the beginning
    raise RuntimeError(f"{command[0]} did not come to its end")


def _work(command: list[str], folder: Path) -> None:
    """In a forked process: the command, without a word."""
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        from supernetic.cli import main

        main(command)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    finally:
        os._exit(code)


def try_job(name: str, folder: Path, rng: random.Random) -> tuple[int, list[str]]:
    """Kill a job; how often that was, and which files differ in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    make(folder)
    command = [*JOBS[name], "-q", "--out"]
    begin = time.monotonic()
    code, _, _ = forked([*command, "whole"], folder, folder / "out", folder / "err", limits=False)
    seconds = time.monotonic() - begin
    if code != 0:
        raise RuntimeError(f"{name}: {(folder / 'err').read_text()[-1000:]}")
    killed = kill_at_random([*command, "killed"], folder, folder / "killed", rng, seconds)
    whole, other = contents(folder / "whole"), contents(folder / "killed")
    return killed, sorted(k for k in whole.keys() | other.keys() if whole.get(k) != other.get(k))


def main() -> None:
    """The tool."""
    import supernetic.jobs.search.job
    import supernetic.jobs.select.job
    import supernetic.networks.training
    import supernetic.supernets.supernet  # noqa: F401

    rng, kills, failures = random.Random(0), {}, []
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        for name in sys.argv[1:] or JOBS:
            kills[name], differ = try_job(name, Path(place).resolve() / name, rng)
            failures += [f"{name}: {file}" for file in differ]
            print(f"{name}: {kills[name]} kills, {len(differ)} files differ: {', '.join(differ[:5])}", flush=True)
    print(json.dumps({"kills": kills, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
