from __future__ import annotations

import dataclasses
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.lab.measures.measure import read_measure
from supernetic.lab.study_file import Study, Variant, read_study
from supernetic.lab.trainings import Training, _parts, locked, train_and_measure, trainings
from supernetic.progress import Event
from supernetic.runs.directory import read_records


def study_of(*variants: dict[str, Any], seeds: tuple[int, ...] = (0,), data: str = "embedded") -> Study:
    made = tuple(Variant(str(i), {"space": "macro:resolution=8", **v}) for i, v in enumerate(variants))
    return Study("s", "S", "", "", data, seeds, {}, made)


def keys(study: Study) -> list[str]:
    return [t.path.name for t in trainings(study, Path("x")).values()]


def test_equal_trainings_have_one_key_however_they_are_said() -> None:
    same = study_of(
        {},
        {"stabiliser": ""} | {"sampler": "strict_fair"},
        {"recipe": {"length": "20 epochs", "batch_size": 128, "augment": "flip", "lr": 0.2, "weight_decay": 3e-4}
         | {"clip_norm": 5.0, "warmup": "0 steps"}},
        {"sampler": {"name": "strict_fair", "reduction": "mean"}},
    )  # fmt: skip
    same = dataclasses.replace(
        same, variants=tuple(Variant(v.name, {k: x for k, x in v.training.items() if x != ""}) for v in same.variants)
    )
    assert len(set(keys(same))) == 1


def test_all_that_matters_is_in_the_key() -> None:
    differ = study_of(
        {}, {"space": "macro:resolution=9"}, {"stabiliser": "skip"}, {"stabiliser": "skip:identity"},
        {"sampler": "uniform"}, {"recipe": {"lr": 0.3}}, {"steps": 5}, {"limit": 100}, {"snapshots": "50%"},
        seeds=(0, 1),
    )  # fmt: skip
    found = keys(differ)
    assert len(set(found)) == len(found) == 18
    assert not set(found) & set(keys(dataclasses.replace(differ, data="cifar10")))


def test_what_is_wrong_with_a_variant_names_it() -> None:
    for bad, said in (
        ({"sampler": "unifrm"}, "did you mean 'uniform'"),
        ({"recipe": {"lrr": 1}}, "unknown setting of recipe"),
        ({"recipe": {"augment": "flp"}}, "flp"),
        ({"stabiliser": "pool"}, "unknown stabiliser"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"device": "tpu"}, "unknown device"),
    ):
        with pytest.raises(InputError, match=f"variant '1': .*{said}"):
            trainings(study_of({}, bad), Path("x"))


def test_another_process_that_needs_a_training_waits(tmp_path: Path) -> None:
    order: list[str] = []
    inside = Signal()

    def other() -> None:
        inside.wait()
        with locked(tmp_path / "runs" / "key"):
            order.append("other")

    thread = Thread(target=other)
    thread.start()
    with locked(tmp_path / "runs" / "key"):
        inside.set()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_progress_counts_new_and_finished_trainings_apart(finished: Path, tmp_path: Path) -> None:
    """A new training takes minutes and a finished one is only read: they are two tasks, the new ones first."""
    plan = read_study(finished.parent / "tiny.toml")
    cells = trainings(plan, finished.parent / "trainings")
    cell = ("none", 0)
    broken = Training({**cells[cell].arguments, "data": "nowhere"}, tmp_path / "new")
    spaces = {v.name: catalog.space(v.training["space"]) for v in plan.variants}
    events: list[Event] = []
    answers = train_and_measure({**cells, cell: broken}, spaces, read_measure(plan.measure), 1, events.append)
    assert "nowhere" in str(answers[cell])
    assert events[:2] == [Event("train", item="none, seed 0", done=100, total=100), Event("train", done=1, total=1)]
    counts = [(e.task, e.done, e.total) for e in events[2:] if not e.item]
    assert counts == [("measure", 1, 3), ("measure", 2, 3), ("measure", 3, 3)]
    shares = [e.done for e in events if e.item == "identity, seed 1"]
    assert shares == sorted(shares)
    assert (shares[-1], {e.total for e in events if e.item}) == (100, {100})


def test_times_are_kept(finished: Path) -> None:
    records = [read_records(f) for f in finished.parent.glob("trainings/*/timings.jsonl")]
    assert all("supernet" in {r["task"] for r in found} for found in records)


def test_workers_share_out_the_networks_of_few_supernets(finished: Path) -> None:
    plan = read_study(finished.parent / "tiny.toml")
    measure = read_measure(plan.measure)
    space = catalog.space(plan.variants[0].training["space"])
    training = Training({}, finished.parent / "trainings" / "any")
    one, four = (_parts([(("none", 0), training, space)], measure, workers) for workers in (1, 4))
    assert (len(one), len(four)) == (1, 4)
    archs = [a for _, _, scoring in four for a in scoring.archs]
    assert archs == sorted(archs)
    assert set(archs) == set(one[0][2].archs)
    twice = _parts([(("none", s), Training({}, Path(f"t{s}")), space) for s in range(4)], measure, 4)
    assert len(twice) == 4  # each has a supernet of its own
    shared = _parts([((name, 0), training, space) for name in ("a", "b")], measure, 1)
    assert len(shared) == 1  # variants with the same training
