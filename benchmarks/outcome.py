"""Outcomes: what a search gives in some minutes, against one network that is trained for as long.

    python benchmarks/outcome.py [ROW ...] [--entries search,plain,...]    runs what is not recorded; prints a table
    python benchmarks/outcome.py [ROW ...] --paces                         only measures how fast rivals are trained
    python benchmarks/outcome.py [ROW ...] --again                         also what is recorded, in place of it
    python benchmarks/outcome.py --record                                  writes experiments/outcome.toml as well

Every entry of a row has the same data, limit on MACs, time and processors. `search` is the network that the command
line recommends. Its rivals are single networks, trained for the whole time by the recipe that a search uses for its
finished networks; their number of steps follows from a pace that is measured first. `timm` is the largest of some small
models of timm that fits, from scratch like the others, where timm is installed. Validation images choose, test images
judge.

Entries run one after another, each in a process of its own, so that all pay for loading libraries and data. Finished
ones are lines of `entries.jsonl` in the directory, or stand in the record, and are not run again. Nothing else should
run on the machine while a search runs or a pace is measured. A rival whose number of steps is known gets just these:
its training may be interrupted, share the machine, or come later on another one, and ends with the same network. So a
pace is recorded too, and says of which processor it is. Entries are compared if they are of one kind of processor.
Paces of one kind of processor differ by up to a quarter between days, so those of a row should be of the day of its
search: `--paces --again` measures them anew, which makes their trainings due again.
`--minutes-scale 0.1` is for trying it out: such entries are kept apart from those of the full time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from platform import machine
from resource import RUSAGE_CHILDREN, getrusage
from statistics import mean
from time import time
from typing import Any

import numpy as np

from supernetic.blueprint import Blueprint
from supernetic.costs.macs import add_up
from supernetic.datasets import Dataset
from supernetic.datasets.batches import Batches
from supernetic.errors import InputError
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.search.choose_augment import choose_augment
from supernetic.jobs.search.choose_space import choose_space
from supernetic.jobs.time_plan import PLANNED_SHARE, rescale_recipe
from supernetic.jobs.train.prepare import loading_of
from supernetic.networks.baselines import Baseline, baseline
from supernetic.networks.controls import largest, mobilenet, plain_network, random_at, resnet
from supernetic.networks.pool import Trained, Training, dataset_of, evaluate, train_all
from supernetic.nn.timm_package import FRESH, PREFIX, have_timm
from supernetic.objective import parse_where, show_quantity
from supernetic.parallel.child import end_with_parent
from supernetic.ranking.trust import wilson
from supernetic.runs.directory import read_records
from supernetic.runs.files import CORRECT
from supernetic.runs.trust import trusting
from supernetic.training.recipe import Recipe
from supernetic.training.schedule import plan_of

SEARCH, TIMM = "search", "timm"
SCALED = {"mobilenetv2": mobilenet, "plain": plain_network, "resnet": resnet}  # to the budget
OF_THE_SPACE = ("random", "largest")
ENTRIES = (SEARCH, *OF_THE_SPACE, *SCALED, TIMM)
TIMM_MODELS = ("mobilenetv2_050", "mobilenetv2_035", "mobilenetv3_small_050")  # by MACs, large to small
RATES: dict[str, float] = {}  # learning rates of rivals for which another than the recipe's was found better

PROCESSES = 2  # that train one rival together
PACE_SHARE, LEAST_PACE_S, MOST_PACE_S = 0.05, 2.0, 60.0  # of the time, for which a rival's pace is measured
MANY_STEPS = 1_000_000  # a training that is only timed does not get there
EVALUATION = 0.5  # of a training step, for as many images: a third by arithmetic, and some reserve
MARGIN = 0.5  # points that a search may be below its best rival
LINES, PACE = "entries.jsonl", "pace.json"
PACE_FIELDS = ("steps", "seconds_per_step", "processor")
RECORD = Path(__file__).parents[1] / "experiments" / "outcome.toml"

Entry = Mapping[str, Any]
SEARCHES: list[subprocess.Popen[str]] = []  # that were started


@dataclass(frozen=True)
class Row:
    """What all entries of a row share."""

    name: str
    data: str
    minutes: float
    macs: float
    seeds: tuple[int, ...] = (0,)
    entries: tuple[str, ...] = ENTRIES

    @property
    def limit(self) -> str:
        return f"macs<={show_quantity(self.macs)}"

    def key(self, entry: str, seed: int) -> tuple[Any, ...]:
        """What makes a recorded entry the same as this one."""
        return self.name, entry, seed, self.minutes


TABLE = (
    Row("embedded", "embedded", 3, 1e6, seeds=(0, 1)),
    Row("fashion-mnist", "fashion-mnist", 10, 1e6, seeds=(0, 1)),
    Row("cifar10", "cifar10", 20, 3e6),
    Row("cifar10-hour", "cifar10", 60, 3e6, entries=(SEARCH, "random", "largest")),  # the best two of the 20 minutes
)
ROWS = {row.name: row for row in TABLE}


# --- one entry --------------------------------------------------------------------------------------------------------


def run_entry(row: Row, entry: str, seed: int, directory: Path, pace: Entry | None = None) -> dict[str, Any]:
    """One line of the record; an entry that cannot be had has only the reason.

    `pace` is the recorded pace of a rival, where there is one.
    """
    if not (directory / PACE).exists():
        shutil.rmtree(directory, ignore_errors=True)  # of one that was interrupted: it has had some of its time
    directory.mkdir(parents=True, exist_ok=True)
    if pace is not None and entry != SEARCH:
        write_pace(directory, pace)
    begin, before = time(), _children_cpu()
    if entry == SEARCH:
        outcome = _search(row, seed, directory)
    else:  # in a fresh process, as a search is
        outcome = _in_a_fresh_process(_rival, row, entry, seed, directory, begin)
    spent = {"seconds": round(time() - begin, 1), "cpu_minutes": round((_children_cpu() - before) / 60, 2)}
    here = {"processor": processor()}  # unless a rival's steps follow from another one's pace
    return {"row": row.name, "entry": entry, "seed": seed, "minutes": row.minutes, **here, **outcome, **spent}


def _in_a_fresh_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        return pool.submit(work, *arguments).result()


def processor() -> str:
    """Its name and the instructions that torch uses: with others, the same time gives other networks."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), machine())
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def _children_cpu() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _search(row: Row, seed: int, directory: Path) -> dict[str, Any]:
    run = directory / "run"
    options = {"--where": row.limit, "--minutes": row.minutes, "--seed": seed, "--out": run}
    words = [str(word) for option in options.items() for word in option]
    with (directory / "progress.txt").open("w") as progress:
        command = [sys.executable, "-m", "supernetic.cli", "search", row.data, *words, "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=progress, text=True) as search:
            SEARCHES.append(search)
            printed, _ = search.communicate()
    if search.returncode:
        return {"skipped": (directory / "progress.txt").read_text().strip().rpartition("\n")[2]}
    networks = json.loads(printed)["networks"]
    network = recommended(networks)
    images = json.loads((run / CORRECT).read_text())["images"]
    return {
        "network": network["name"],
        "networks": len(networks),  # that shared the time: chosen ones and controls
        **_accuracy(_of_exported_weights(network)["test/accuracy"], images),
        "valid_accuracy": round(_valid_accuracy(network), 2),
        "macs": network["macs"],
        "params": network["params"],
        "steps": network["steps"],
    }


def recommended(networks: Sequence[Entry]) -> Entry:
    """The network that a search recommends; if it names none, the chosen one that validates best."""
    chosen = [n for n in networks if n["role"] == "chosen" and not n.get("failed")]
    return next((n for n in chosen if n.get("recommended")), None) or max(chosen, key=_valid_accuracy)


def _valid_accuracy(network: Entry) -> float:
    return float((network["trained"] or network["score"])["valid/accuracy"])


def _of_exported_weights(network: Entry) -> Entry:
    """Test metrics of the weights that the user gets."""
    inherited: Entry | None = network.get("inherited") if network.get("weights") == "inherited" else None
    return inherited or network["test"]


def _accuracy(percent: float, images: int) -> dict[str, Any]:
    """With its 95 % interval over test images."""
    low, high = (round(100 * float(share), 2) for share in wilson(percent / 100, images))
    return {"test_accuracy": round(percent, 2), "interval": [low, high], "test_images": images}


def _rival(row: Row, entry: str, seed: int, directory: Path, begin: float) -> dict[str, Any]:
    """One network, trained until the time that began with `begin` is over."""
    try:
        with trusting():
            loading = loading_of(row.data, None, seed)
            dataset = dataset_of(loading)
            network = _network(row, entry, seed, dataset)
            recipe, pace = _recipe(row, entry, network, seed, loading, directory, begin)
            trained = _train_rival(network, recipe, seed, loading, directory)
            if trained.reason:
                return {"skipped": trained.reason}
            tested = evaluate(trained.load(), dataset, "test", network.resolution)[0]["test/accuracy"]
    except InputError as error:
        return {"skipped": str(error)}
    macs, params = _costs(network)
    return {
        **_accuracy(tested, len(dataset.splits["test"])),
        "valid_accuracy": round(trained.metrics["valid/accuracy"], 2),
        "macs": macs,
        "params": params,
        "steps": int(recipe.length.split()[0]),
        "lr": recipe.lr,
        "processes": PROCESSES,
        "seconds_per_step": pace["seconds_per_step"],
        "processor": pace["processor"],
    }


def measure_pace(row: Row, entry: str, seed: int, directory: Path) -> dict[str, Any]:
    """A line of the record: how fast a rival is trained, and so how many steps it gets; its training comes later."""
    begin, before = time(), _children_cpu()
    skipped: dict[str, Any] = {}
    if not (directory / PACE).exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        skipped = _in_a_fresh_process(_measure, row, entry, seed, directory, begin)
    found = skipped or json.loads((directory / PACE).read_text())
    spent = {"seconds": round(time() - begin, 1), "cpu_minutes": round((_children_cpu() - before) / 60, 2)}
    return {"row": row.name, "entry": entry, "seed": seed, "minutes": row.minutes, **found, **spent}


def write_pace(directory: Path, pace: Entry) -> None:
    (directory / PACE).write_text(json.dumps({name: pace[name] for name in PACE_FIELDS}))


def pace_for(row: Row, entry: str, seed: int, recorded: Mapping[Any, Entry]) -> Entry | None:
    """The recorded pace of a rival, if it is of the processor on which the search of this row ran."""
    pace = recorded.get(row.key(entry, seed), {})
    search = recorded.get(row.key(SEARCH, seed), {})
    known = all(name in pace for name in PACE_FIELDS)
    return pace if known and search.get("processor", pace["processor"]) == pace["processor"] else None


def _measure(row: Row, entry: str, seed: int, directory: Path, begin: float) -> dict[str, Any]:
    try:
        with trusting():
            loading = loading_of(row.data, None, seed)
            network = _network(row, entry, seed, dataset_of(loading))
            _recipe(row, entry, network, seed, loading, directory, begin)
    except InputError as error:
        return {"skipped": str(error)}
    return {}


def _network(row: Row, entry: str, seed: int, dataset: Dataset) -> Blueprint | Baseline:
    shape = dataset.resolution, len(dataset.classes), dataset.channels
    if entry in SCALED:
        return SCALED[entry](row.macs, *shape)
    if entry == TIMM:
        return _timm(row.macs, *shape)
    limits = [parse_where(row.limit)]
    space, *_ = choose_space(dataset, limits, minutes=row.minutes)
    if entry == "largest":
        return space.blueprint(largest(space, limits))
    return space.blueprint(random_at(space, row.macs, np.random.default_rng(seed), where=limits))


def _timm(budget: float, resolution: int, classes: int, channels: int) -> Baseline:
    if not have_timm():
        raise InputError("timm is not installed")
    for name in TIMM_MODELS:
        network = baseline(f"{PREFIX}{name}@{FRESH}", classes, channels, resolution)
        if _costs(network)[0] <= budget:
            return network
    raise InputError(f"none of {', '.join(TIMM_MODELS)} fits into {show_quantity(budget)} MACs")


def _costs(network: Blueprint | Baseline) -> tuple[int, int]:
    return network.costs() if isinstance(network, Baseline) else add_up(network)


def _recipe(
    row: Row,
    entry: str,
    network: Blueprint | Baseline,
    seed: int,
    loading: Mapping[str, Any],
    directory: Path,
    begin: float,
) -> tuple[Recipe, Entry]:
    """The recipe of finished networks, with as many steps as the time allows, and the pace that these follow from."""
    dataset, recipe = dataset_of(loading), network_recipe(None)
    decision = choose_augment("auto", dataset, recipe, seed=seed, minutes=row.minutes)
    recipe = replace(recipe, lr=RATES.get(entry, recipe.lr), augment=decision.augment)
    schedule = plan_of(recipe, Batches(dataset, "train", recipe.batch_size, seed).steps_per_epoch)
    if not (directory / PACE).exists():
        harmless = replace(rescale_recipe(recipe, schedule, MANY_STEPS), lr=1e-9)  # what is timed must not diverge
        seconds = min(MOST_PACE_S, max(LEAST_PACE_S, PACE_SHARE * 60 * row.minutes))
        pace = _pace(lambda watch: _train_rival(network, harmless, seed, loading, directory / "pace", watch), seconds)
        images = len(dataset.splits["valid"]) + len(dataset.splits["test"])
        evaluation = EVALUATION * images / recipe.batch_size * pace * PROCESSES
        steps = int((PLANNED_SHARE * 60 * row.minutes - (time() - begin) - evaluation) / pace)
        if steps < 1:
            raise InputError(f"{row.minutes:g} minutes are too short for {entry}")
        measured = {"steps": steps, "seconds_per_step": round(pace, 5), "processor": processor()}
        write_pace(directory, measured)
    known: Entry = json.loads((directory / PACE).read_text())
    return rescale_recipe(recipe, schedule, known["steps"]), known


def _train_rival(
    network: Blueprint | Baseline,
    recipe: Recipe,
    seed: int,
    loading: Mapping[str, Any],
    directory: Path,
    watch: Callable[[int, int, int], None] | None = None,
) -> Trained:
    """One training on all processors. Its pace is measured here too, so that it is that of the training."""
    training = Training(network, recipe, seed, loading, processes=PROCESSES)
    return train_all([training], directory, workers=1, progress=watch)[0]


class _Enough(Exception):
    """Ends a training that is only timed."""


def _pace(train: Callable[[Callable[[int, int, int], None]], object], seconds: float) -> float:
    """Seconds per step of a training, which is watched for some seconds after its first steps."""
    seen: list[tuple[float, int]] = []

    def watch(_: int, done: int, steps: int) -> None:
        seen.append((time(), done))
        if len(seen) > 2 and seen[-1][0] - seen[1][0] >= seconds:
            raise _Enough

    with suppress(_Enough):
        train(watch)
    (begin, first), (end, last) = seen[1], seen[-1]  # before `seen[1]`, memory is allocated and kernels are chosen
    return (end - begin) / (last - first)


# --- the record of entries, tables and verdicts -----------------------------------------------------------------------


def key_of(entry: Entry) -> tuple[Any, ...]:
    return entry["row"], entry["entry"], entry["seed"], entry["minutes"]


def add_line(file: Path, entry: Entry) -> None:
    """Add an entry; a torn last line of an earlier process goes."""
    lines = [json.dumps(line) + "\n" for line in (*read_records(file), entry)]
    temporary = file.with_suffix(".tmp")
    temporary.write_text("".join(lines), encoding="utf-8")
    os.replace(temporary, file)


def read_entries(file: Path) -> dict[tuple[Any, ...], Entry]:
    """By key; of entries with the same key the last one counts."""
    return {key_of(entry): entry for entry in read_records(file)}


def recorded_before() -> list[Entry]:
    """The entries of `experiments/outcome.toml`, so that the table can be filled on another day."""
    if not RECORD.exists():
        return []
    entries: list[Entry] = tomllib.loads(RECORD.read_text(encoding="utf-8"))["obtained"]["entries"]
    return entries


def missing(rows: Iterable[Row], names: Sequence[str], recorded: Mapping[Any, Entry]) -> list[tuple[Row, str, int]]:
    """What is still to be run; what was skipped is tried again."""
    return [
        (row, name, seed)
        for row in rows
        for seed in row.seeds
        for name in row.entries
        if name in names and "test_accuracy" not in recorded.get(row.key(name, seed), {})
    ]


def results(row: Row, name: str, recorded: Mapping[Any, Entry]) -> dict[int, Entry]:
    """The entries of this name that have an accuracy, by seed."""
    found = {seed: recorded.get(row.key(name, seed), {}) for seed in row.seeds}
    return {seed: entry for seed, entry in found.items() if "test_accuracy" in entry}


def accuracy_of(entries: Iterable[Entry]) -> float:
    return mean(float(e["test_accuracy"]) for e in entries)


@dataclass(frozen=True)
class Verdict:
    """A search against its best rival: test accuracies, means over the seeds that both have."""

    search: float
    rival: str
    best: float

    @property
    def difference(self) -> float:
        return round(self.search - self.best, 2)

    @property
    def held(self) -> bool:
        return self.difference >= -MARGIN


def verdict(row: Row, recorded: Mapping[Any, Entry]) -> Verdict | None:
    """None if the search or all rivals are missing.

    A rival that lacks a seed of the search, or was trained on another kind of processor, does not count.
    """
    search = results(row, SEARCH, recorded)
    if not search:
        return None
    rivals = {name: results(row, name, recorded) for name in row.entries if name != SEARCH}
    complete = {
        n: accuracy_of(found[s] for s in search)
        for n, found in rivals.items()
        if all(s in found and found[s].get("processor") == search[s].get("processor") for s in search)
    }
    if not complete:
        return None
    best = max(complete, key=lambda name: complete[name])
    return Verdict(round(accuracy_of(search.values()), 2), best, round(complete[best], 2))


def markdown(rows: Sequence[Row], recorded: Mapping[Any, Entry]) -> str:
    """Test accuracies, means over seeds, with half the width of their 95 % interval over test images."""
    names = [n for n in ENTRIES if any(results(row, n, recorded) for row in rows)]
    head = ["data, MACs, time", *names, "search minus best rival"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        judged = verdict(row, recorded)
        cells = [_cell(results(row, n, recorded)) for n in names]
        said = "-" if judged is None else f"{judged.difference:+.2f} ({judged.rival})"
        lines.append([f"{row.data}, {show_quantity(row.macs)}, {row.minutes:g} min", *cells, said])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(entries: Mapping[int, Entry]) -> str:
    if not entries:
        return "-"
    widths = [e["interval"][1] - e["interval"][0] for e in entries.values()]  # seeds share images: not narrower
    return f"{accuracy_of(entries.values()):.2f} ± {mean(widths) / 2:.2f}"


def shown(entry: Entry) -> str:
    """An entry for people."""
    title = f"{entry['row']:<14}{entry['entry']:<12} seed {entry['seed']}: "
    if "skipped" in entry:
        return f"{title}skipped: {entry['skipped']}"
    if "test_accuracy" not in entry:
        return f"{title}{entry['steps']:,} steps at {1000 * entry['seconds_per_step']:.1f} ms, to be trained"
    low, high = entry["interval"]
    return (
        f"{title}{entry['test_accuracy']:.2f} % [{low:.2f}, {high:.2f}]  "
        f"{show_quantity(entry['macs'])} MACs  {show_quantity(entry['params'])} params  {entry['steps']:,} steps  "
        f"{entry['seconds']:.0f} s of {60 * entry['minutes']:.0f} s  {entry['cpu_minutes']:.2f} CPU-minutes"
    )


def write_record(rows: Sequence[Row], names: Sequence[str], recorded: Mapping[Any, Entry]) -> None:
    """Write `experiments/outcome.toml`."""
    sys.path.insert(0, str(RECORD.parent))
    from record import Record

    judged = {row.name: found for row in rows if (found := verdict(row, recorded)) is not None}
    keys = [row.key(name, seed) for row in rows for seed in row.seeds for name in row.entries if name in names]
    entries = [recorded[key] for key in keys if key in recorded]
    said = ", ".join(
        f"{name} {v.search:.2f} % against {v.best:.2f} % ({v.rival}, {v.difference:+.2f})" for name, v in judged.items()
    )
    Record(
        "outcome",
        "in the same minutes a search gives a network about as good as the best one trained without it, or better",
        "ours",
        f"test accuracy of search >= that of the best rival - {MARGIN:g} points, in every row",
        {
            "verdicts": {name: {**vars(v), "difference": v.difference, "held": v.held} for name, v in judged.items()},
            "entries": [dict(e) for e in entries],
        },
        n=len(entries),
        held=len(judged) == len(rows) and all(v.held for v in judged.values()),
        sentence=f"Search against its best rival: {said}.{_still_missing(rows, names, recorded)}",
        interval=next((e["interval"] for e in entries if "interval" in e), []),
        spread="95 % over test images (Wilson); verdicts are of means over seeds",
        seeds=sorted({e["seed"] for e in entries}),
        scale="; ".join(f"{r.name}: {r.data}, {r.limit}, {r.minutes:g} min" for r in rows)
        + f"; {os.cpu_count()} processors, {PROCESSES} of them for each rival",
        cpu_minutes=round(sum(e["cpu_minutes"] for e in entries), 1),
    ).write()


def _still_missing(rows: Sequence[Row], names: Sequence[str], recorded: Mapping[Any, Entry]) -> str:
    count = len(missing(rows, [n for n in names if n != TIMM], recorded))
    return f" {count} entries of the table have not been run yet." if count else ""


def _end(*_: object) -> None:
    """End at once, with the search that is at work; the process of a rival ends when this one has."""
    for search in SEARCHES:
        search.kill()
    os._exit(128 + signal.SIGTERM)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows: {', '.join(ROWS)}; by default all")
    parser.add_argument("--entries", default=",".join(ENTRIES), help="entries, separated by commas (default: all)")
    parser.add_argument("--minutes-scale", type=float, default=1.0, help="factor on the time of every row")
    parser.add_argument("--directory", type=Path, default=Path("runs/outcome"), help="of runs and their record")
    parser.add_argument("--paces", action="store_true", help="only measure how fast rivals are trained")
    parser.add_argument("--again", action="store_true", help="also what is recorded; the new entry replaces it")
    parser.add_argument("--record", action="store_true", help="write experiments/outcome.toml")
    parser.add_argument("--as-it-is", action="store_true", help="run nothing: only print, and record, what there is")
    given = parser.parse_args()
    names = given.entries.split(",")
    for kind, words, known in (("row", given.rows, ROWS), ("entry", names, ENTRIES)):
        for word in words:
            if word not in known:
                parser.error(f"unknown {kind} {word!r}: choose from {', '.join(known)}")
    if given.record and given.minutes_scale != 1:
        parser.error("--record is for the full time: --minutes-scale must be 1")
    rows = [replace(row, minutes=round(row.minutes * given.minutes_scale, 4)) for row in TABLE]
    rows = [row for row in rows if row.name in (given.rows or ROWS)]
    signal.signal(signal.SIGTERM, _end)
    file: Path = given.directory / LINES
    before = {key_of(entry): entry for entry in recorded_before()}
    there = {} if given.again else {**before, **read_entries(file)}
    for row, name, seed in [] if given.as_it_is else missing(rows, names, there):
        directory = given.directory / f"{row.name}-{row.minutes:g}min" / f"{name}-{seed}"
        if given.again:
            pace = None
            shutil.rmtree(directory, ignore_errors=True)
        else:
            pace = pace_for(row, name, seed, {**before, **read_entries(file)})
        if given.paces:
            if name == SEARCH or pace is not None:
                continue
            entry = measure_pace(row, name, seed, directory)
        else:
            entry = run_entry(row, name, seed, directory, pace)
        add_line(file, entry)
        print(shown(entry), flush=True)
    recorded = {**before, **read_entries(file)}
    print(f"\n{markdown(rows, recorded)}")
    if given.record:  # all of the table, whatever was run today
        write_record(TABLE, ENTRIES, recorded)


if __name__ == "__main__":
    main()
