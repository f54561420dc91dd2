from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from supernetic.commands import robustness as module
from supernetic.commands.robustness import RobustnessResult, robustness
from supernetic.errors import InputError, RunError
from supernetic.jobs.train.job import train
from supernetic.jobs.train.score import score
from supernetic.progress import Event
from supernetic.ranking.robustness import subnets
from supernetic.runs.files import SCORES
from supernetic.space import Arch
from supernetic.spaces.macro import Macro

TINY = "macro:channels=4,resolution=8,head=16"
N = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two seeds, each with a snapshot in the middle."""
    places = tuple(tmp_path_factory.mktemp("runs") / f"seed{seed}" for seed in (0, 1))
    for seed, place in enumerate(places):
        train(TINY, steps=4, limit=300, seed=seed, snapshots="50%", out=place)
    return places[0], places[1]


@pytest.fixture(scope="module")
def result(runs: tuple[Path, Path]) -> RobustnessResult:
    return robustness(runs, n=N, metric="accuracy", images=64)


def test_taus_are_those_of_the_scores(runs: tuple[Path, Path], result: RobustnessResult) -> None:
    archs: list[Arch] = [tuple(a) for a in subnets(Macro(), 0, N).tolist()]
    values = {
        (seed, step or 4): [a["valid/accuracy"] for a in score(run, Macro(), archs, images=64, step=step)]
        for seed, run in enumerate(runs)
        for step in (2, None)
    }
    assert result.metric == "valid/accuracy"
    pairs = [(a.first, a.second) for a in (*result.between_seeds, *result.early_and_late)]
    assert pairs == [((0, 2), (1, 2)), ((0, 4), (1, 4)), ((0, 2), (0, 4)), ((1, 2), (1, 4))]
    for a in (*result.between_seeds, *result.early_and_late):
        x, y = np.array(values[a.first]), np.array(values[a.second])
        i, j = np.triu_indices(N, 1)
        assert a.tau == pytest.approx(float((np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])).mean()))
        assert abs(float(kendalltau(x, y).statistic)) >= abs(a.tau) - 1e-9  # tau-b, which leaves ties out
    assert [(m.seed, m.step) for m in result.measurements] == [(0, 2), (0, 4), (1, 2), (1, 4)]
    for m in result.measurements:
        assert (m.mean, m.best) == pytest.approx((np.mean(values[m.seed, m.step]), max(values[m.seed, m.step])))


def test_networks_are_counted_for_each_supernet(runs: tuple[Path, Path]) -> None:
    seen: list[Event] = []
    robustness(runs, n=5, images=32, on_event=seen.append)
    items = [f"seed {seed} at {step}" for seed in (0, 1) for step in (2, 4)]
    assert seen == [Event("score", item=item, done=5, total=5) for item in items]


def test_scores_are_kept(runs: tuple[Path, Path], result: RobustnessResult) -> None:
    before = [(run / SCORES).read_bytes() for run in runs]
    assert robustness(runs, n=N, metric="accuracy", images=64) == result
    assert [(run / SCORES).read_bytes() for run in runs] == before


def test_it_is_told_in_two_ways(result: RobustnessResult) -> None:
    text = str(result)
    for part in ("12 random networks of macro by valid/accuracy", "between seeds", "seed 0 at 2 and seed 0 at 4"):
        assert part in text
    record = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert record["between_seeds"][0]["tau"] == result.between_seeds[0].tau
    assert len(record["measurements"]) == 4


def test_one_run_with_a_snapshot_is_enough(runs: tuple[Path, Path]) -> None:
    alone = robustness(runs[0], n=N, images=64)
    assert alone.metric == "valid/cross_entropy"
    assert not alone.between_seeds
    assert len(alone.early_and_late) == 1
    least = min(alone.measurements, key=lambda m: m.best)
    assert least.best < least.mean


def test_networks_without_a_score_are_left_out(runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def some(path: Path, space: object, archs: Sequence[Arch], *, step: int | None, **_: object) -> list[object]:
        return [{"valid/accuracy": float("nan") if i < 3 and step else float(i)} for i in range(len(archs))]

    monkeypatch.setattr(module, "score", some)
    result = robustness(runs, n=N)
    assert result.n == N - 3
    assert result.between_seeds[0].tau == 1
    assert "3 networks are left out" in result.notes[0]
    monkeypatch.setattr(module, "score", lambda *a, **_: [{"valid/accuracy": 10.0}] * N)
    assert robustness(runs, n=N).notes[0] == "seed 0 at 2 gives all networks the same score"
    monkeypatch.setattr(module, "score", lambda *a, **_: [{"valid/accuracy": float("nan")}] * N)
    with pytest.raises(RunError, match=f"fewer than two of {N} networks"):
        robustness(runs, n=N)


def test_what_differs_is_said_or_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    def other(change: Callable[[str], str]) -> Path:
        place = tmp_path / f"other{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        (place / "run.toml").write_text(change((runs[1] / "run.toml").read_text()))
        return place

    with pytest.raises(RunError, match="different spaces"):
        robustness([runs[0], other(lambda t: t.replace('fingerprint = "', 'fingerprint = "other'))])
    with pytest.raises(RunError, match="have the same seed 1"):
        robustness([runs[1], other(str)])
    with pytest.raises(InputError, match="two networks or more, got 1"):
        robustness(runs, n=1)
    trainings = {runs[0]: {"seed": 0, "recipe": {"lr": 1}, "load": {"seed": 0}}, runs[1]: {"seed": 1, "load": {}}}
    assert module._compared(trainings) == [f"{runs[1]} differs from {runs[0]} in more than its seed: recipe"]


def test_nothing_to_compare_is_said_before_anything_is_scored(trained: Path) -> None:
    with pytest.raises(InputError, match="two seeds at one step, or two steps of one seed"):
        robustness(trained, n=4)
    assert not (trained / SCORES).exists()
