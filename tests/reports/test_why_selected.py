"""A model of `select`: where its numbers come from, and what it is better or worse than."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from supernetic.errors import RunError, UnknownNameError
from supernetic.reports.why import why

SELECTED = {
    "models": ["logistic", "mlp"],
    "costs": {"logistic": [7840, 7850], "mlp": [6352, 6370]},
    "sizes": [40, 320],
    "seeds": [4, 2],
    "tried": [0.002, 0.006],
    "rates": {"logistic": 0.006, "mlp": 0.002},
    "scored": 120,
    "on": "test",
    "table": {"calibrated_cross_entropy": {"logistic": [2.2, 0.99], "mlp": [2.4, 2.09]}},
    "decision": {
        "model": "logistic",
        "rivals": [{"model": "mlp", "difference": 1.1, "low": 0.6, "high": 1.6, "significant": True}],
    },
}


def test_a_choice_of_models_says_where_its_numbers_come_from(tmp_path: Path) -> None:
    (tmp_path / "select.json").write_text(json.dumps(SELECTED))
    lines = why(tmp_path, "logistic")
    assert "  learning rate 0.006: the best of 0.002 and 0.006" in lines
    assert "on 120 test images, after its own training on 320 images, the mean of 2 seeds" in " ".join(lines)
    assert lines[-1].startswith("significantly better than mlp: calibrated cross-entropy 1.100 nats lower")
    assert why(tmp_path, "mlp")[-1].startswith("significantly worse than logistic: ")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "select.json").write_text(json.dumps({**SELECTED, "costs": 3}))
    with pytest.raises(RunError, match=r"select\.json is not what select writes"):
        why(tmp_path, "logistic")


def test_an_unknown_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "select.json").write_text(json.dumps(SELECTED))
    with pytest.raises(UnknownNameError, match="unknown model 'logistics': did you mean 'logistic'"):
        why(tmp_path, "logistics")
