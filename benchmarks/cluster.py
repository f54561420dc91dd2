"""What a cluster costs and gains: on two workers of this machine, and on 200 simulated ones.

    python benchmarks/cluster.py [score] [train] [overhead] [simulate] [deaths] [record]

Every part adds its numbers to experiments/cluster.toml, block by block, and goes on where it stands; remove a part's
table to measure it again. Ratios are of blocks that were measured in turns in one run, because machines are seldom
idle; their medians are kept. Simulated workers sleep: they show what the scheduler and the job can carry.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import tomli_w
import torch

from supernetic import catalog
from supernetic.datasets import load
from supernetic.evaluators.on_cluster import on_workers
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.networks.pool import Training, train_all
from supernetic.objective import Objective
from supernetic.parallel.cluster import Cluster, cluster
from supernetic.parallel.workers import map_in_workers
from supernetic.runs.directory import open_run
from supernetic.runs.files import TRIALS
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.random import RandomSearch
from supernetic.supernets.supernet import Supernet
from supernetic.training.recipe import Recipe

RESULTS = Path(__file__).parents[1] / "experiments" / "cluster.toml"
WAYS = {"one process": "", "1 worker": "local:1", "2 workers": "local:2"}
CELLS, CELLS_PER_BLOCK = 10_000, 2_000
NETWORKS, NETWORKS_PER_BLOCK = 64, 32
SIMULATED, NAP_S, NAPS, PROCESSES = 200, 20.0, 400, 2
DEATHS_PER_MINUTE = 0.10
TRIALS_RECORDED = 1_000_000


def done(part: str) -> Any:
    """What is measured already."""
    return (tomllib.loads(RESULTS.read_text()) if RESULTS.exists() else {}).get(part)


def keep(part: str, found: Any) -> None:
    """Add to the results, whole or not at all."""
    table = tomllib.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    temporary = RESULTS.with_suffix(".tmp")
    temporary.write_text(tomli_w.dumps({**table, part: found}), encoding="utf-8")
    os.replace(temporary, RESULTS)
    print(part, json.dumps(found), flush=True)


def in_turns(part: str, blocks: int, items: int, measure: Callable[[int], None], ways: dict[str, str]) -> None:
    """Time each block by every way, one after the other."""
    found = done(part) or {"items": items, "blocks": 0, "seconds": {way: [] for way in ways}}
    for block in range(found["blocks"], blocks):
        for way, where in ways.items():
            with cluster(where) if where else nullcontext():
                measure(-1)  # workers start, and load what they need
                begin = perf_counter()
                measure(block)
                found["seconds"][way].append(round(perf_counter() - begin, 2))
        found["blocks"] = block + 1
        base, one = found["seconds"]["one process"], found["seconds"]["1 worker"]
        two = found["seconds"]["2 workers"]
        found["speed of 1 worker"] = round(median(a / b for a, b in zip(base, one, strict=True)), 3)
        found["speed of 2 workers"] = round(median(a / b for a, b in zip(base, two, strict=True)), 3)
        keep(part, found)


def score() -> None:
    """Cells of NAS-Bench-201 by a small supernet."""
    space = catalog.space("nasbench201:cells=1,channels=4,resolution=8,in_channels=1")
    images = load("embedded", limit=300, resolution=8, gray=True)
    supernet = Supernet(space, seed=0).eval()
    evaluate = SupernetEvaluator(supernet, images, ("valid/cross_entropy",), bn="batch")
    rng = np.random.default_rng(0)
    archs = [tuple(a) for a in rng.permutation(catalog.table("nasbench201").archs)[:CELLS].tolist()]

    def measure(block: int) -> None:
        first = max(0, block) * CELLS_PER_BLOCK
        on_workers(evaluate)(archs[first : first + (CELLS_PER_BLOCK if block >= 0 else 40)])

    in_turns("score", CELLS // CELLS_PER_BLOCK, CELLS, measure, WAYS)


def train() -> None:
    """Small networks of NAS-Bench-Macro."""
    space = catalog.space("macro:channels=4,resolution=8,head=16,in_channels=1")
    loading = {"source": "embedded", "limit": 600, "resolution": 8, "gray": True}
    recipe = Recipe(title="short", source="ours", length="30 steps", batch_size=32, lr=0.05)
    archs = space.sample(np.random.default_rng(0), NETWORKS).tolist()
    data = load(**loading).fingerprint  # type: ignore[arg-type]
    tasks = [Training(space.blueprint(tuple(a)), recipe, 0, loading, data=data) for a in archs]

    def measure(block: int) -> None:
        first = max(0, block) * NETWORKS_PER_BLOCK
        with tempfile.TemporaryDirectory() as folder:
            train_all(tasks[first : first + (NETWORKS_PER_BLOCK if block >= 0 else 2)], Path(folder), workers=1)

    in_turns("train", NETWORKS // NETWORKS_PER_BLOCK, NETWORKS, measure, WAYS)


def nothing(item: int, report: Any) -> int:
    """A piece that takes no time."""
    return item


def nap(item: float, report: Any) -> float:
    """A piece of fixed length, on a simulated worker."""
    sleep(item)
    return item


def overhead() -> None:
    """Seconds of a piece that does nothing, in a process of its own on a real worker."""
    with cluster("local:1"):
        map_in_workers(nothing, range(20), 1)
        laps = []
        for _ in range(5):
            begin = perf_counter()
            map_in_workers(nothing, range(200), 1)
            laps.append((perf_counter() - begin) / 200)
    keep("overhead", {"pieces": 1000, "milliseconds a piece": round(1000 * median(laps), 2)})


# --- simulated workers ------------------------------------------------------------------------------------------------


async def serve(address: str, count: int, deaths_per_s: float) -> None:
    """Many light workers in this process; some die without a word, and new ones come in their place."""
    import dask
    from distributed import Worker

    dask.config.set({"distributed.admin.log-level": "critical", "distributed.worker.profile.enabled": False})
    made = [Worker(address, nthreads=1, dashboard=False, memory_limit=0) for _ in range(count)]
    for first in range(0, count, 20):
        await asyncio.gather(*made[first : first + 20])
    print("ready", flush=True)
    rng = random.Random(os.getpid())
    while deaths_per_s:
        await asyncio.sleep(1 / deaths_per_s)
        victim = made.pop(rng.randrange(len(made)))
        victim.batched_stream.comm.abort()  # as if its machine had lost its power
        made.append(await Worker(address, nthreads=1, dashboard=False, memory_limit=0))
    await asyncio.Event().wait()


@contextmanager
def simulation(deaths: float) -> Iterator[tuple[Cluster, psutil.Process]]:
    """A scheduler in a process of its own, 200 workers in two others, and this process as the job."""
    from distributed import Client

    started: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "scheduler.json"
        try:
            command = ["-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
            quiet: Any = {"stderr": subprocess.DEVNULL, "text": True, "cwd": folder}
            started.append(
                subprocess.Popen([sys.executable, *command, "--scheduler-file", str(described)], stdout=-3, **quiet)
            )
            while not described.exists():
                sleep(0.1)
            sleep(0.5)
            address = json.loads(described.read_text())["address"]
            for _ in range(PROCESSES):
                rate = str(deaths * SIMULATED / PROCESSES / 60)
                own = [sys.executable, __file__, "serve", address, str(SIMULATED // PROCESSES), rate]
                started.append(subprocess.Popen(own, stdout=-1, **quiet))
            for process in started[1:]:
                assert process.stdout is not None
                assert process.stdout.readline().strip() == "ready"
            with Client(address, set_as_default=False) as client:
                yield Cluster(client, address, in_child=False), psutil.Process(started[0].pid)
        finally:
            for process in started:
                process.kill()
                process.wait()


def naps(part: str, deaths: float) -> None:
    """Throughput of 200 workers whose pieces have a fixed length, and the memory that this takes."""
    if done(part):
        return
    with simulation(deaths) as (simulated, scheduler):
        begin, before = perf_counter(), psutil.Process().memory_info().rss
        processor = scheduler.cpu_times().user + psutil.Process().cpu_times().user
        answers = simulated.map(nap, [NAP_S] * NAPS)
        seconds = perf_counter() - begin
        processor = scheduler.cpu_times().user + psutil.Process().cpu_times().user - processor
        assert answers == [NAP_S] * NAPS
        ideal = NAPS * NAP_S / SIMULATED
        keep(
            part,
            {
                "workers": SIMULATED, "pieces": NAPS, "seconds of a piece": NAP_S, "deaths a minute": deaths,
                "seconds": round(seconds, 1), "ideal seconds": ideal, "efficiency": round(ideal / seconds, 3),
                "pieces a second": round(NAPS / seconds, 1),
                "processor milliseconds a piece": round(1000 * processor / NAPS, 2),
                "MB of the scheduler": round(scheduler.memory_info().rss / 1e6),
                "MB that the job grew by": round((psutil.Process().memory_info().rss - before) / 1e6),
            },
        )  # fmt: skip


# --- the record -------------------------------------------------------------------------------------------------------


def record() -> None:
    """A search of a million trials: the size of its record, and the time until it goes on."""
    if done("record"):
        return
    space = catalog.space("attentive")
    problem = SearchProblem(space, (Objective("valid/accuracy", True), Objective("cost/macs", False)))

    class Numbers:
        metrics = ("valid/accuracy", "valid/cross_entropy", "cost/macs", "cost/params")
        test = frozenset[str]()

        def __call__(self, archs: Any) -> Any:
            rng = np.random.default_rng(len(archs))
            rows = rng.random((len(archs), 4)).tolist()
            return [dict(zip(self.metrics, (70 + r[0], r[1], 1e8 * (1 + r[2]), 5e6), strict=True)) for r in rows]

    with tempfile.TemporaryDirectory() as folder:
        path, times = Path(folder) / "run", {}
        for what in ("write", "resume"):
            with open_run(path, {"seed": 0}) as run:
                begin = perf_counter()
                found = run_search(RandomSearch(10_000), problem, Numbers(), run, budget=TRIALS_RECORDED, chunk=10_000)
                times[what] = round(perf_counter() - begin, 1)
                assert len(found) == TRIALS_RECORDED
                del found
        size = (path / TRIALS).stat().st_size
        begin = perf_counter()
        with open_run(path, {"seed": 0}) as run:
            parsed = [Trial.from_json(r) for r in run.read(TRIALS)]
        reading = round(perf_counter() - begin, 1)
        assert len(parsed) == TRIALS_RECORDED
        keep(
            "record",
            {
                "trials": TRIALS_RECORDED, "MB": round(size / 1e6), "bytes a trial": round(size / TRIALS_RECORDED),
                "seconds to read": reading, "seconds": times, "sqlite": sqlite(Path(folder), parsed),
                "MB of memory": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            },
        )  # fmt: skip


def sqlite(folder: Path, trials: list[Trial]) -> dict[str, float]:
    """The same trials in SQLite, a row each, for comparison."""
    import sqlite3

    begin = perf_counter()
    with sqlite3.connect(folder / "trials.db") as store:
        store.execute("create table trials (number integer primary key, record text)")
        rows = ((i, json.dumps(t.to_json(), separators=(",", ":"))) for i, t in enumerate(trials))
        store.executemany("insert into trials values (?, ?)", rows)
    written = perf_counter() - begin
    begin = perf_counter()
    with sqlite3.connect(folder / "trials.db") as store:
        read = [Trial.from_json(json.loads(r)) for (r,) in store.execute("select record from trials order by number")]
    assert len(read) == len(trials)
    size = (folder / "trials.db").stat().st_size
    return {
        "seconds to write": round(written, 1),
        "seconds to read": round(perf_counter() - begin, 1),
        "MB": size // 10**6,
    }


PARTS: dict[str, Callable[[], None]] = {
    "score": score,
    "train": train,
    "overhead": overhead,
    "simulate": lambda: naps("simulate", 0.0),
    "deaths": lambda: naps("deaths", DEATHS_PER_MINUTE),
    "record": record,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
