from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from supernetic.datasets import load
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.exporters.model import load_model
from supernetic.jobs.scale.job import scale
from supernetic.jobs.scale.result import Family
from supernetic.networks.pool import evaluate
from supernetic.progress import Event
from supernetic.runs.directory import read_settings

COMPARED = ("supernet.safetensors", "metrics.jsonl", "trials.jsonl", "chain.jsonl", "scale.json")


def test_a_family_from_images(finished: Family) -> None:
    assert [n.name for n in finished.networks] == ["s0", "s1", "standard-0", "compound-1", "standard-1"]
    assert sorted(finished.models) == ["s0", "s1"]
    dataset = load(**read_settings(finished.run)["load"])
    for record in finished.networks[:2]:
        metrics = evaluate(load_model(Path(finished.run) / "models" / record.name), dataset, "test")[0]
        assert metrics == pytest.approx(record.test, rel=1e-5)
    assert finished.report.read_text().startswith("<!doctype html>")
    assert "compound-1" in str(finished)


@pytest.mark.slow
def test_scalenets_own_space_gives_a_family_too(small: dict[str, Any], tmp_path: Path) -> None:
    found = scale(**{**small, "space": "scalenet:width=0.1,resolution=16"}, out=tmp_path / "run")
    assert isinstance(found, Family)
    assert sorted(found.models) == ["s0", "s1"]
    assert all((tmp_path / "run" / "models" / name / "model.safetensors").exists() for name in found.models)


@pytest.mark.slow
def test_an_interruption_changes_nothing(finished: Family, small: dict[str, Any], tmp_path: Path) -> None:
    """The finished run was interrupted in its search; this one is not, until the first network trains."""

    def interrupt(event: Event) -> None:
        if event.task == "compare" and event.item:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale(**small, out=tmp_path / "run", on_event=interrupt)
    for name in COMPARED:
        assert (tmp_path / "run" / name).read_bytes() == (Path(finished.run) / name).read_bytes()


def test_a_finished_run_is_read(finished: Family, small: dict[str, Any]) -> None:
    before = (Path(finished.run) / "timings.jsonl").read_bytes()
    again = scale(**small, out=finished.run)
    assert isinstance(again, Family)
    assert again.to_json() == json.loads((Path(finished.run) / "result.json").read_text())
    assert (Path(finished.run) / "timings.jsonl").read_bytes() == before
    with pytest.raises(RunError, match="belongs to other settings"):
        scale(**{**small, "seed": 1}, out=finished.run)


def test_a_dry_run_writes_nothing(small: dict[str, Any], tmp_path: Path) -> None:
    said: list[str] = []
    planned = scale(**small, out=tmp_path / "run", dry_run=True, on_event=lambda e: said.append(str(e)))
    assert planned.planned is not None
    assert not (tmp_path / "run").exists()
    assert planned.planned.plan["networks"] == 5
    assert len(planned.planned.budgets) == 2
    assert any("nearest multiple of" in line for line in said)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stages": 0}, "stages must be at least 1, got 0"),
        ({"space": "scalenet", "stages": 4}, r"stages must lie in 1\.\.3, as in Table 2, got 4"),
        ({"stages": 3, "extrapolate": 9}, "together must be at most 8, got 12"),
        ({"minutes": 0}, "minutes must be more than 0 and finite, got 0"),
        ({"curve": "squared", "stages": 1}, "squared has 2 parameters: it needs as many stages, got 1"),
        ({"space": "nasbench201"}, "nasbench201 cannot be scaled: only chains of blocks"),
        ({"base_budget": "many"}, "a value is a number with an optional unit"),
        ({"base_budget": "9G"}, "no architecture has"),
        ({"data": "nowhere"}, "unknown data set 'nowhere'"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_refused_before_anything_is_written(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        scale(**{"limit": 300, "threads": 1, **settings}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'linear'"):
        scale(curve="liner")
    with pytest.raises(UnknownNameError, match="did you mean 'size'"):
        scale(prior="sise")
