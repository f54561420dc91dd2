"""Whole jobs on a pretend device: all steps are taken there, and end with the numbers of the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

# How far numbers may lie apart: the CPU works around a fault that other devices do not have, and rounds differently.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
# ZiCo divides by how much gradients differ between two batches: where they hardly do, roundings decide.
RELATIVE_OF = {"zico": 0.05}
# Models are exported from the CPU and quantised for CPUs, and one proxy needs doubles, which not every device has.
CPU_WORK = re.compile(
    r"exporters\.\w+:\w+|jobs\.compare\.int8:_validated|proxies\.synflow:synflow|proxies\.probe:apply_changed"
)
JOBS = ("derive", "search", "race", "finish", "plan", "scale", "select", "robustness", "rank", "study")
pytestmark = pytest.mark.slow

Script = Callable[..., Any]


def require_equal(here: Any, there: Any, place: str = "") -> None:
    """Refuse any difference beyond roundings; says where it is."""
    if isinstance(here, Mapping):
        assert here.keys() == there.keys(), place
        for key in here:
            require_equal(here[key], there[key], f"{place}/{key}")
    elif isinstance(here, list):
        assert len(here) == len(there), place
        for i, (a, b) in enumerate(zip(here, there, strict=True)):
            require_equal(a, b, f"{place}[{i}]")
    elif isinstance(here, float | int):
        relative = RELATIVE_OF.get(place.rpartition("/")[2], RELATIVE)
        assert there == pytest.approx(here, rel=relative, abs=ABSOLUTE), place
    else:
        assert here == there, place


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_the_same_on_another_device(job: str, script: Script, tmp_path: Path) -> None:
    found = script("whole_jobs.py", str(tmp_path), job)
    assert all(map(CPU_WORK.fullmatch, found["pretend"].pop("left behind")))
    assert not found["cpu"].pop("left behind")
    where = {device: found[device].pop("device", None) for device in ("cpu", "pretend")}
    require_equal(found["cpu"], found["pretend"], job)
    if job in ("search", "finish"):  # the run, and each training of a network; those on CPUs have no word about it
        assert where == {"cpu": ['device = "cpu"'], "pretend": ['device = "pretend"']}


def test_work_that_stays_behind_would_be_noticed(script: Script) -> None:
    assert script("refusals.py")["left behind"] == ["calibration:run_network", "somebody else"]


def test_a_difference_would_be_noticed() -> None:
    numbers = {"networks": [{"accuracy": 50.0, "name": "a"}]}
    require_equal(numbers, {"networks": [{"accuracy": 50.001, "name": "a"}]})
    for other in ({"accuracy": 51.0, "name": "a"}, {"accuracy": 50.0, "name": "b"}, {"accuracy": 50.0}):
        with pytest.raises(AssertionError):
            require_equal(numbers, {"networks": [other]})


def test_a_training_step_waits_once(script: Script, tmp_path: Path) -> None:
    """For its loss, which says whether it has diverged; a step that compares candidates, for their losses too."""
    found = script("whole_jobs.py", str(tmp_path), "waits", "pretend")["pretend"]
    assert not found.pop("left behind")
    once = ["aten::_local_scalar_dense"]
    assert found == {"supernet": [once] * 3, "network": [once] * 3, "attentive": [["aten::_to_copy", *once]] * 3}
