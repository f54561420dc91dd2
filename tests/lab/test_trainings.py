from __future__ import annotations

import dataclasses
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.lab.study_file import Study, Variant
from supernetic.lab.trainings import Watch, held, trainings
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
    inside = Event()

    def other() -> None:
        inside.wait()
        with held(tmp_path / "runs" / "key"):
            order.append("other")

    thread = Thread(target=other)
    thread.start()
    with held(tmp_path / "runs" / "key"):
        inside.set()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_progress_weighs_what_is_done_already() -> None:
    lines: list[str] = []
    watch = Watch([("a", 0), ("b", 0)], [False, True], lines.append)
    watch(0, 500, 1000)
    assert lines == []  # too early for a line
    watch(1, 1000, 1000)
    watch(0, 1000, 1000)
    assert lines[0].startswith("1 of 2 trainings, 51 %, 0 s left (b, seed 0: done)")
    assert lines[1].startswith("2 of 2 trainings, 100 %")


def test_times_are_kept(finished: Path) -> None:
    records = [read_records(f) for f in finished.parent.glob("trainings/*/timings.jsonl")]
    assert all("supernet" in {r["task"] for r in found} for found in records)
