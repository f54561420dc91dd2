"""Every number says where it comes from, and none claims to be of a supernet that is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supernetic.reports.sources import number_sources, score_source
from supernetic.runs.view import read_run

Make = Callable[..., Path]
SCORES = {
    "valid/cross_entropy": 0.75,
    "proxy/naswot": 391.8,
    "proxy/jacov": -20.0,
    "proxy/layers": 5.0,
    "proxy/rank_ensemble": 0.2,
    "valid/subset_training": 1.5,
    "mine/beauty": 3.0,
}


def with_scores(path: Path, **changes: Any) -> Path:
    """The run with these scores in the record of its first model."""
    networks = json.loads((path / "networks.json").read_text())
    networks[0] |= {"score": SCORES, **changes}
    (path / "networks.json").write_text(json.dumps(networks))
    return path


def lines_of(path: Path, name: str = "model-1") -> list[str]:
    run = read_run(path)
    model = run.model(name)
    assert model is not None
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in number_sources(model, run)]


def source(lines: list[str], number: str) -> str:
    (line,) = (line for line in lines if number in line.partition(":")[0])
    return line.partition(": ")[2]


def test_numbers_of_a_run_with_a_supernet(make: Make) -> None:
    path = with_scores(make())
    (path / "ensemble.json").write_text(json.dumps({"valid/cross_entropy": [0.1, 0.2], "proxy/naswot": [1.0, 2.0]}))
    lines = lines_of(path)
    assert source(lines, "MACs") == "counted"
    assert source(lines, "layers 5") == "counted"
    assert source(lines, "validation cross-entropy 0.75") == "by the supernet"
    assert source(lines, "NASWOT 391.8, Jacobian covariance") == "before any training, by zero-cost proxies"
    assert source(lines, "rank ensemble") == (
        "the mean rank among 2 random networks (0 worst, 1 best) by the supernet's validation cross-entropy and NASWOT"
    )
    assert source(lines, "subset") == "a training of this network on a small subset, by the search"
    assert source(lines, "beauty") == "the evaluator that the search was given"
    assert sum(line.endswith("by the supernet") for line in lines) == 1


def test_without_a_supernet_none_is_mentioned(make: Make) -> None:
    path = with_scores(make())
    (path / "metrics.jsonl").unlink()
    assert "supernet" not in " ".join(lines_of(path))


def test_inherited_weights_are_the_supernets(make: Make) -> None:
    path = with_scores(make(), weights="inherited", inherited={"test/accuracy": 61.0}, steps=80)
    lines = lines_of(path)
    assert source(lines, "test accuracy 61.00 %").endswith("with the supernet's weights, which are the model's")
    own = [line for line in lines if "with weights that are not the model's" in line]
    assert len(own) == 1
    assert "after 80 steps" in own[0]


def test_the_first_round_says_its_steps(make: Make) -> None:
    path = make(race=True)
    networks = json.loads((path / "networks.json").read_text())
    model = next(n for n in networks if n["name"] == "model-1")
    training = path / "networks" / model["first_key"]
    training.mkdir(exist_ok=True)
    (training / "run.toml").write_text('[recipe]\nlength = "940 steps"\n')
    assert "after the first round, 940 steps (10 epochs), in which" in " ".join(lines_of(path))


def test_a_table_is_named(make: Make) -> None:
    run = read_run(make(until="search"))
    settings = {**run.settings, "request": {"table": "nasbench201"}}
    named = type(run)(**{**vars(run), "settings": settings})
    assert score_source("table/c10_valid_200", named) == "the benchmark table nasbench201"
    assert score_source("table/c10_valid_200", run) == "the benchmark table"
