"""Jobs that are killed again and again, at moments nobody chose, and end with the bytes of a job that was left alone.

    python tests/campaign/kills.py              every job
    python tests/campaign/kills.py ensemble     one of them

Each job is run once without interruption, then again: started, killed with SIGKILL (with all of its processes) after a
random time, started again, until it comes to its end. Where a job decides by the clock, the one that is left alone
comes second and is given the decisions of the first. What is compared is listed in docs/reliability.md: everything but
the files that hold measured times.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import runpy
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

import psutil  # type: ignore[import-untyped]

os.environ["OMP_NUM_THREADS"] = "1"

from keepsakes import ALONE, COMMANDS, SMALL, TINY, make

KILLS = 6  # of each job
MOST_STARTS = 60
# What may differ, as docs/reliability.md says: files of measured times and pages, and measured times in records.
NOT_COMPARED = {"timings.jsonl", "report.html", "index.html", "README.md", "latency.jsonl", ".lock"}
RECORDS = {"networks.json", "result.json", "select.json", "study.json", "model.json", "quantised.json", "run.toml"}
MEASURED = (
    "latency",
    "seconds",
    "paces",
    "cpu_minutes",
    "/ms",
    "sha256",
)  # parts of the keys of such times; digests are of files that hold them
OF_PLACE = {"run", "page", "done"}  # keys that say where the run is, and how many trainings of a study it found there


@dataclass(frozen=True)
class Job:
    """A job that is killed.

    Args:
        command: Its command line; `{run}` stands for the run directory.
        prepare: Makes what it is given, in the folder that it runs in.
        begins_with: The finished run, of those in `keepsakes.py`, that it goes on with.
        smaller: Called in the process of the job before it begins: makes what takes minutes take seconds.
        by_clock: Whether it decides by the clock how long to train. Then the job that is left alone is given the plan
            and the decisions of the one that was killed.
        seconds: Of processor time that it takes, about; measured if it is 0.
    """

    command: tuple[str, ...]
    prepare: Callable[[Path], object] | None = None
    begins_with: str = ""
    smaller: Callable[[], None] | None = None
    by_clock: bool = False
    seconds: float = 0.0


def small_race() -> None:
    """The plan of a search within a time limit, of seconds: two rounds, a cheaper model, four parts to the end."""
    from supernetic.jobs.compare import last_training
    from supernetic.jobs.search.job import SearchJob
    from supernetic.jobs.search.plan import SearchPlan

    last_training.PART_S = 0.5
    plan = SearchPlan(
        supernet_steps=0, population=4, generations=3, networks=6, network_steps=0, workers=2, models=2,
        rounds=(0.3, 0.3), sizes=(6, 2), cheaper=0.3, finish=4.0, limit=40.0,
    )  # fmt: skip
    SearchJob._plan_work = lambda *_: plan  # type: ignore[method-assign]


def pretrained_model(folder: Path) -> None:
    """A model directory to transfer from."""
    from supernetic.costs.macs import cost
    from supernetic.exporters.card import Card
    from supernetic.exporters.model import save_model
    from supernetic.families.efficientnet_lite import EfficientNetLite
    from supernetic.nn.network import build

    network = build(EfficientNetLite(width=0.25, depth=0.5).network(4, 3, 32), seed=0).eval()
    costs = cost(network.blueprint)
    means, classes = ((0.4, 0.5, 0.6), (0.3, 0.3, 0.3)), tuple("abcd")
    save_model(folder / "pretrained", network, Card("small", "", classes, 32, 3, *means, "", "", costs.macs,
                                                    costs.params), onnx=False)  # fmt: skip


def drawn_shapes(folder: Path) -> None:
    """Images with boxes."""
    if not (folder / "shapes").exists():
        shapes = runpy.run_path(str(Path(__file__).parent.parent / "shapes.py"))
        shapes["write_voc"](folder / "shapes", {"train": 8, "val": 2, "test": 2})


MIXED = ("search", "--space", "mixed:channels=4,resolution=8", "--where", "macs<=100K", "--limit", "400")
JOBS = {
    "train": Job(("train", TINY, "--steps", "60", "--limit", "400", "--threads", "1", "--out", "{run}")),
    "supernet": Job(("search", *SMALL, "--where", "macs<=60K", "--keep", "1", *ALONE, "--out", "{run}")),
    "ensemble": Job((  # the default score: a rank ensemble of proxies, without a supernet
        *MIXED, "--supernet", "no", "--network-steps", "8", "--population", "4", "--generations", "2", "--keep", "1",
        *ALONE, "--out", "{run}",
    )),
    "race": Job(  # lengths of trainings are settled on the way
        (*MIXED, "--minutes", "0.6", "--augment", "light", "--keep", "2", "--workers", "2", "--threads", "1", "--out",
         "{run}"),
        smaller=small_race, by_clock=True, seconds=15.0,
    ),
    "finish": Job(("finish", "{run}", "model-1", "--steps", "120"), begins_with="search"),
    "transfer": Job(
        ("transfer", "pretrained", "embedded", "--image-size", "16", "--limit", "300", "--steps", "6", "--trials", "2",
         "--workers", "1", "--out", "{run}"),
        pretrained_model,
    ),
    "detect": Job(
        ("detect", "mobilenetv2", "shapes", "--steps", "6", "--image-size", "64", "--channels", "8", "--out", "{run}"),
        drawn_shapes,
    ),
    "start": Job((  # needs the extra `pretrained`
        "search", "--start", "efficientnet-lite0", "--image-size", "32", "--where", "macs<=5M", "--limit", "150",
        "--steps", "2", "--network-steps", "2", "--population", "2", "--generations", "1", "--keep", "1", *ALONE,
        "--out", "{run}",
    )),
    "table": Job(("search", "--table", "nasbench201", "--evaluations", "400", "--out", "{run}")),
    "select": Job((*COMMANDS["select"], "--out", "{run}")),
    "study": Job((*COMMANDS["study"], "--out", "{run}/study")),  # its trainings are beside it, in `{run}/trainings`
}  # fmt: skip


def contents(run: Path) -> dict[str, str]:
    """Digests of the files of a run that must be the same; those with measured times as far as they are not times."""
    found = {}
    for path in sorted(p for p in run.rglob("*") if p.is_file() and p.name not in NOT_COMPARED):
        name = path.relative_to(run).as_posix()
        if path.name in RECORDS:
            text = path.read_text(encoding="utf-8").replace(f'"{run.name}/', '"')  # where the run is
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


def kill_at_random(job: Job, folder: Path, run: str, rng: random.Random, seconds: float) -> int:
    """Start a job and kill it until it has been killed often enough; then let it end. How often it was killed.

    Moments are counted in processor time, so that they are the same on a busy machine.
    """
    killed = 0
    begin(job, folder, run)
    for _ in range(MOST_STARTS):
        child = os.fork()
        if child == 0:
            _work(job, folder, run)
        until = rng.uniform(0.05, seconds) if killed < KILLS else inf
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if processor_time(child) > until:
                os.killpg(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                killed += 1
                break
            time.sleep(0.03)
        if os.waitstatus_to_exitcode(status) == 0:
            if killed >= KILLS:
                return killed
            shutil.rmtree(folder / run)  # it ended before enough kills: once more from the beginning
            begin(job, folder, run)
    raise RuntimeError(f"{job.command[0]} did not come to its end: {(folder / 'err').read_text()[-1000:]}")


def processor_time(child: int) -> float:
    """Seconds that a process and those that it started have computed."""
    found = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(child)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                found += times.user + times.system
    return found


def begin(job: Job, folder: Path, run: str) -> None:
    """What a job finds in its run directory."""
    if job.begins_with:
        shutil.copytree(folder / job.begins_with, folder / run, ignore=shutil.ignore_patterns(".lock"))


def _work(job: Job, folder: Path, run: str, limit: Callable[[], None] | None = None) -> None:
    """In a forked process: the command; what it says goes to the file `err`."""
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        with open(os.devnull, "rb") as nothing, open("err", "wb") as told:
            for number, file in ((0, nothing), (1, told), (2, told)):
                os.dup2(file.fileno(), number)
        from supernetic.cli import main

        if job.smaller:
            job.smaller()
        if limit:
            limit()
        main([*(a.replace("{run}", run) for a in job.command), "-q"])
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def start(job: Job, folder: Path, run: str, limit: Callable[[], None] | None = None) -> int:
    """Start a job and wait for its end; `limit` is called in its process before it begins. The exit code."""
    child = os.fork()
    if child == 0:
        _work(job, folder, run, limit)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def undisturbed(job: Job, folder: Path, run: str) -> float:
    """Run a job to its end; the seconds of processor time that it took."""
    before = os.times()
    if start(job, folder, run) != 0:
        raise RuntimeError(f"{job.command[0]}: {(folder / 'err').read_text()[-1000:]}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def try_job(name: str, folder: Path, rng: random.Random) -> tuple[int, list[str]]:
    """Kill a job; how often that was, and which files differ in the end."""
    job = JOBS[name]
    make(folder, *([job.begins_with] if job.begins_with else []))
    if job.prepare:
        job.prepare(folder)
    if job.by_clock:
        killed = kill_at_random(job, folder, "killed", rng, job.seconds)
        (folder / "whole").mkdir()
        for file in ("run.toml", "decisions.jsonl"):
            shutil.copy(folder / "killed" / file, folder / "whole" / file)
        undisturbed(job, folder, "whole")
    else:
        begin(job, folder, "whole")
        killed = kill_at_random(job, folder, "killed", rng, undisturbed(job, folder, "whole"))
    whole, other = contents(folder / "whole"), contents(folder / "killed")
    return killed, sorted(k for k in whole.keys() | other.keys() if whole.get(k) != other.get(k))


def missing(name: str) -> str:
    """Why a job cannot be run here, if it cannot."""
    from supernetic.detection.packages import PACKAGES, have_detection

    return "" if name != "detect" or have_detection() else f"needs {' and '.join(PACKAGES)}"


def main() -> None:
    """The tool."""
    import supernetic.jobs.search.job
    import supernetic.jobs.select.job
    import supernetic.networks.training
    import supernetic.supernets.supernet  # noqa: F401

    rng, kills, failures = random.Random(0), {}, []
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        for name in sys.argv[1:] or JOBS:
            if why := missing(name):
                print(f"{name}: left out, it {why}", flush=True)
                continue
            kills[name], differ = try_job(name, Path(place).resolve() / name, rng)
            failures += [f"{name}: {file} differs" for file in differ]
            print(f"{name}: {kills[name]} kills, {len(differ)} files differ", flush=True)
            for file in differ:
                print(f"- {name}: {file} differs", flush=True)
    print(json.dumps({"kills": kills, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
