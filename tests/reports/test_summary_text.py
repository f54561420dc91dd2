from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supernetic.reports.summary_text import (
    duration,
    ensemble_text,
    headline,
    interval,
    listed,
    missing,
    number,
    show,
    status,
    typeset,
)
from supernetic.runs.view import read_run

Make = Callable[..., Path]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (59.6, "1 min"), (312, "5 min 12 s"), (3600, "1 h"), (7512, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds).replace("\N{NO-BREAK SPACE}", " ") == text


def test_numbers_have_their_units() -> None:
    told = [show("cost/macs", 1_391_000), show("latency/ms", 1.234), show("valid/accuracy", 91.239), show("x/y", None)]
    assert [t.replace("\N{NO-BREAK SPACE}", " ") for t in told] == ["1.391M", "1.23 ms", "91.24 %", "–"]
    assert interval(-0.05, 0.5) == "\N{MINUS SIGN}0.05 to 0.50"
    assert [number(0), number(3), number(12), number(1300)] == ["none", "three", "twelve", "1,300"]
    assert [listed(x) for x in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("until", "said", "left"),
    [
        ("plan", "next: training the supernet", ["train", "search", "compare", "finish", "test", "export"]),
        (
            "train",
            "training the supernet, step 300 of 2,000",
            ["train", "search", "compare", "finish", "test", "export"],
        ),
        ("search", "training networks, 0 of 8 done", ["compare", "finish", "test", "export"]),
        ("compare", "training networks, 7 of 8 done", ["compare", "finish", "test", "export"]),
        ("test", "next: exporting the models", ["export"]),
        ("models", "finished", []),
    ],
)
def test_how_far_a_run_is(make: Make, until: str, said: str, left: list[str]) -> None:
    run = read_run(make(until=until))
    assert status(run) == said
    assert missing(run) == left


def test_the_headline_has_the_numbers_of_the_files(make: Make) -> None:
    run = read_run(make())
    models, trust, controls = [s.replace("\N{NO-BREAK SPACE}", " ") for s in headline(run)]
    assert models.startswith("Three models within MACs ≤ 1.4M: on test images model-1 reaches")
    for m in run.chosen:
        assert f"{m.name} reaches {m.test['test/accuracy']:.2f} %" in models
    assert "tau is 0.52 (95 % interval \N{MINUS SIGN}0.05 to 0.86, n = 7)" in trust
    assert "not significant (the 95 % interval includes 0)" in trust
    won = sum(c["low"] > 0 for c in run.trust["comparisons"])
    assert f"significantly better in {number(won)}" in controls


def retold(path: Path, **changes: Any) -> list[str]:
    trust = json.loads((path / "trust.json").read_text())
    trust["tau"] |= changes
    (path / "trust.json").write_text(json.dumps(trust))
    return headline(read_run(path))


def test_the_headline_is_honest_either_way(make: Make) -> None:
    path = make()
    assert "better scores go with better networks" in retold(path, low=0.1, significant=True)[1]
    assert "do not trust this ranking" in retold(path, value=-0.6, low=-0.9, high=-0.2, significant=False)[1]
    few = retold(path, value=0.8, low=0.1, high=1.0, n=5, significant=False)
    assert "not significant (n = 5 is too small: chance alone can give such a tau)" in few[1]
    trust = json.loads((path / "trust.json").read_text())
    lost = [{**c, "difference": -2.0, "low": -3.0, "high": -1.0} for c in trust["comparisons"]]
    (path / "trust.json").write_text(json.dumps({**trust, "comparisons": lost}))
    assert headline(read_run(path))[2] == (
        "Of five comparisons with controls, on test images, the models are significantly better in none "
        "and significantly worse in five."
    )


def test_the_headline_counts_no_win_after_a_training_that_is_too_short(make: Make) -> None:
    path = make(race=True)
    assert (
        "Of six comparisons with controls trained alike for 20 s (1,140 to 3,400 steps, 12 to 36 epochs), on test "
        in (headline(read_run(path))[1])
    )
    trust = json.loads((path / "trust.json").read_text())
    short = {"steps": [62, 80], "epochs": [0.66, 0.85], "low": 18.0, "difference": 20.0, "high": 22.0}
    trust["comparisons"] = [{**c, **short} for c in trust["comparisons"]]
    (path / "trust.json").write_text(json.dumps(trust))
    assert headline(read_run(path))[1] == (
        "Models and controls were trained alike for 20 s (62 to 80 steps, 0.66 to 0.85 epochs), which is too short to "
        "tell how they compare when trained to the end."
    )


def test_the_headline_tells_the_reason_once(make: Make) -> None:
    path = make()
    trust = json.loads((path / "trust.json").read_text())
    trust["comparisons"] = [{**c, "low": -1.0, "high": 1.0} for c in trust["comparisons"]]
    (path / "trust.json").write_text(json.dumps(trust))
    assert headline(read_run(path))[2].endswith("significantly better in none; five are not significant.")
    few = retold(path, value=0.8, low=0.1, high=1.0, n=5)  # its reason is another one
    assert few[2].endswith("five are not significant (the 95 % interval includes 0).")


def test_a_place_in_a_benchmark_is_told(make: Make) -> None:
    path = make()
    trust = json.loads((path / "trust.json").read_text())
    trust["table"] = {
        "dataset": "Fashion-MNIST",
        "column": "mean_acc",
        "model": "model-3",
        "rank": 12,
        "of": 3969,
        "value": 92.5,
        "best": 93.13,
    }
    (path / "trust.json").write_text(json.dumps(trust))
    said = headline(read_run(path))[3]
    table = "In the benchmark's table (Fashion-MNIST, mean_acc)"
    assert said == f"{table}, model-3 is number 12 of 3,969 (92.50, the best has 93.13)."
    trust["table"]["no_larger"] = {"rank": 3, "of": 1200, "best": 92.7}
    (path / "trust.json").write_text(json.dumps(trust))
    assert headline(read_run(path))[3] == (
        f"{said[:-1]}, and number 3 of the 1,200 with no more MACs (the best has 92.70)."
    )
    trust["table"]["dataset"] = "CIFAR-10"
    (path / "trust.json").write_text(json.dumps(trust))
    assert not any("benchmark" in s for s in headline(read_run(path))), "the images are those of another data set"


def test_before_there_are_models_the_best_so_far_is_told(make: Make) -> None:
    path = make(until="search")
    (path / "search.json").unlink()
    run = read_run(path)
    best = min(t.metrics["valid/cross_entropy"] for t in run.trials)
    assert headline(run) == [
        f"400 architectures scored; by the supernet's cross-entropy, the best so far has {best:.4g}."
    ]


def test_a_minus_is_as_wide_as_a_plus() -> None:
    minus = "\N{MINUS SIGN}"
    assert typeset("model-1: tau -0.20 [-1.00, +1.00].") == f"model-1: tau {minus}0.20 [{minus}1.00, +1.00]."
    assert typeset("model-2 beats random-2.") == "model-2 beats random-2."


def test_what_a_rank_ensemble_consists_of_is_told(make: Make) -> None:
    path = make()
    assert ensemble_text(read_run(path)) == ""
    (path / "ensemble.json").write_text(json.dumps({"valid/cross_entropy": [-2.0, -1.5], "proxy/synflow": [0.5, 1.0]}))
    assert ensemble_text(read_run(path)) == (
        "The rank ensemble is the mean rank among 2 random networks (0 worst, 1 best) by the supernet's cross-entropy "
        "and SynFlow."
    )
