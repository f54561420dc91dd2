"""What a finished search knows about the mistakes of its networks, and metrics by which every class counts alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic import calibration
from supernetic.commands.report import report
from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.exporters.model import load_model
from supernetic.jobs.search.job import _decides, _goals, _needs_supernet, _without_supernet, search
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.search.result import SearchResult
from supernetic.networks.pool import split_logits
from supernetic.runs.directory import read_settings
from supernetic.runs.predictions import read_mistakes


def test_diagnostics_agree_with_the_tested_metrics(finished: SearchResult) -> None:
    assert list(finished.diagnostics) == [n.name for n in finished.networks]
    for network in finished.networks:
        d, tested = finished.diagnostics[network.name], network.exported_test
        assert tested is not None
        assert d.accuracy == pytest.approx(tested["test/accuracy"])
        assert d.f1 == pytest.approx(tested["test/f1"])
        assert d.balanced_accuracy == pytest.approx(tested["test/balanced_accuracy"])
        assert (d.temperature is not None) == network.chosen


def test_they_are_of_the_model_that_is_handed_over(finished: SearchResult) -> None:
    dataset = load(limit=400, resolution=8)
    for name, model in finished.models.items():
        network, d = load_model(Path(model.path)), model.diagnostics
        assert d.name == name
        logits = split_logits(network, dataset, "test")
        assert np.array_equal(d.predicted, logits.argmax(axis=1))
        held_out = split_logits(network, dataset, "calibrate")
        t = calibration.safe_temperature(held_out, dataset.labels[dataset.splits["calibrate"]])
        assert d.temperature == pytest.approx(t, rel=1e-4)


def test_every_mistake_of_the_gallery_has_its_picture(finished: SearchResult) -> None:
    pictures = read_mistakes(finished.run)
    shown = {m.image for model in finished.models.values() for m in model.diagnostics.mistakes(24)}
    assert set(pictures) == shown


def test_the_terminal_tells_them_too(finished: SearchResult) -> None:
    told = report(finished.run, diagnostics="model-1")
    assert told.lines() == finished.models["model-1"].diagnostics.lines()
    assert json.loads(json.dumps(told.to_json()))["diagnostics"]["network"] == "model-1"
    with pytest.raises(InputError, match="take one run, got 2"):
        report([finished.run, finished.run], diagnostics="model-1")


def goals(**settings: Any) -> Any:
    return _goals(SearchRequest(**settings))


@pytest.mark.parametrize("name", ["f1", "balanced_accuracy"])
def test_an_objective_that_counts_classes_alike_decides(name: str) -> None:
    found = goals(objectives=[f"max {name}", "min macs"])
    decides, (why,) = _decides(found)
    assert decides == f"valid/{name}"
    assert "not by accuracy" in why
    assert _decides(goals(objectives=["max accuracy"])) == ("valid/accuracy", ())
    assert _decides(goals()) == ("valid/accuracy", ())


def test_within_a_time_limit_it_needs_no_supernet() -> None:
    request = SearchRequest(objectives=["max f1", "min macs"], minutes=5)
    found = _goals(request)
    assert not _needs_supernet(request, found)[0]
    assert [str(o) for o in _without_supernet(found).objectives] == ["max proxy/rank_ensemble", "min cost/macs"]
    limited = SearchRequest(objectives=["max f1"], where=["f1>=40"], minutes=5)
    assert _needs_supernet(limited, _goals(limited)) == (True, "a supernet is trained, which valid/f1 needs")


@pytest.mark.slow
def test_a_search_for_f1_on_unequal_classes(small: dict[str, Any], tmp_path: Path) -> None:
    data = load(limit=900, resolution=8)
    keep = np.flatnonzero((data.labels > 4) | (np.arange(len(data.labels)) % 6 == 0))
    images, names = data.images[keep], np.array(data.classes)[data.labels[keep]]
    said: list[str] = []
    found = search(
        (images, names), **{**small, "limit": None, "objectives": ["max f1", "min macs"], "keep": 1},
        out=tmp_path / "run", on_event=lambda e: said.append(e.text),
    )  # fmt: skip
    assert any("classes are unequal" in s for s in said)
    assert any("compared by validation macro F1" in s for s in said)
    settings = read_settings(tmp_path / "run")
    assert settings["retrain_recipe"]["balance"] == settings["recipe"]["balance"] == "sampling"
    assert found.trust["decides"] == "valid/f1"
    best = max(found.networks, key=lambda n: (n.trained or {}).get("valid/f1") or 0)
    (recommended,) = [n for n in found.networks if n.recommended]
    assert (recommended.trained or {})["valid/f1"] == (best.trained or {})["valid/f1"]
    assert any("best validation macro F1" in line for line in found.lines())


def test_equal_classes_leave_no_trace_in_the_settings(finished: SearchResult) -> None:
    settings = read_settings(finished.run)
    assert "balance" not in settings["recipe"]
    assert "balance" not in settings["retrain_recipe"]
    assert "balance" not in settings["request"]
