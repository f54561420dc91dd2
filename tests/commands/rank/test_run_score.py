from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import macro
from supernetic.commands.rank.command import rank
from supernetic.commands.rank.run_score import (
    RunScore,
    angles,
    ask_parts,
    find_runs,
    metric_of,
    parts_of,
)
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.evaluators.angle import ANGLE, AngleEvaluator
from supernetic.jobs.train.job import train
from supernetic.jobs.train.score import score
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.objective import Metrics
from supernetic.progress import Event
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.supernets.supernet import Supernet

TINY = "macro:channels=4,resolution=8,head=16"
OPTIONS = ("Identity", "MB3_K3", "MB6_K5")
ARCHS: list[Arch] = [tuple(a) for a in Macro().sample(np.random.default_rng(0), 6).tolist()]


def part(path: Path, option: str, choice: str = "layer1", start: Path | None = None) -> str:
    train(TINY, steps=2, limit=300, sampler=f"fixed:choice={choice},option={option}", start=start, out=path)
    return str(path)


@pytest.fixture(scope="module")
def parts(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs that go on from one, each with another option of the second layer."""
    root = tmp_path_factory.mktemp("parts")
    return [part(root / option, option, start=trained) for option in OPTIONS]


def test_runs_of_a_few_shot_supernet_stand_between_commas(tmp_path: Path) -> None:
    for name in ("a", "b", "c,d"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.toml").write_text("")
    a, b, both = (str(tmp_path / name) for name in ("a", "b", "c,d"))
    assert find_runs(f"{a},{b}") == ((a, b), "")
    assert find_runs(f"{a},{b}:angle") == ((a, b), "angle")
    assert find_runs(both) == ((both,), "")
    assert find_runs(f"{a},{tmp_path}/e") is None


def test_metrics_of_a_run() -> None:
    assert metric_of("") == "valid/cross_entropy"
    assert metric_of("accuracy") == metric_of("valid/accuracy") == "valid/accuracy"
    assert metric_of("angle") == "proxy/angle"
    with pytest.raises(UnknownNameError, match="unknown metric 'angel': did you mean 'angle'"):
        metric_of("angel")


def test_answers_are_of_the_rows_and_say_their_split(run: Path) -> None:
    table = macro.load()
    rows = np.array([5, 77])
    events: list[Event] = []
    asked = RunScore("mine", (str(run),), "valid/cross_entropy").ask(table, rows, events.append)
    expected = score(run, Macro(), [tuple(a) for a in table.archs[rows].tolist()])
    assert asked.column.values.tolist() == [-m["valid/cross_entropy"] for m in expected]
    assert asked.column.split == "valid"
    assert asked.remarks == ["mine is valid/cross_entropy; lower is better, so its sign is reversed"]
    assert events == [Event("score", item="mine", done=2, total=2)]
    accuracy = RunScore("mine", (str(run),), "valid/accuracy").ask(table, rows)
    assert accuracy.column.values.tolist() == [m["valid/accuracy"] for m in expected]
    assert accuracy.remarks == ["mine is valid/accuracy"]
    assert RunScore("mine", (str(run),), ANGLE).ask(table, rows).column.split == ""


# --- angles -----------------------------------------------------------------------------------------------------------


def test_angles_are_those_from_the_seeds_own_weights(run: Path) -> None:
    trained, _ = load_supernet(run)
    found = angles(str(run), Macro(), ARCHS)
    assert found == AngleEvaluator(Supernet(trained.space, seed=0), trained)(ARCHS)
    other = AngleEvaluator(Supernet(trained.space, seed=1), trained)(ARCHS)
    assert all(0 < a[ANGLE] < 0.5 < b[ANGLE] for a, b in zip(found, other, strict=True))  # 3 steps turn little


def test_rank_takes_the_angle_by_name(run: Path) -> None:
    result = rank("macro", score=f"{run}:angle", truth="mean_acc", sample=20, sample_top=0)
    assert result.n == 20
    assert any("is proxy/angle" in w for w in result.warnings)
    assert not (run / "scores.jsonl").exists()


def test_angles_of_another_space_are_refused(run: Path) -> None:
    with pytest.raises(RunError, match="holds a supernet of macro, not of nasbench201"):
        angles(str(run), NASBench201(), [(0,) * 6])


# --- few-shot supernets -----------------------------------------------------------------------------------------------


def test_each_network_is_asked_of_its_part(parts: list[str]) -> None:
    asked: list[tuple[str, list[Arch]]] = []

    def ask(run: str, archs: list[Arch]) -> list[Metrics]:
        asked.append((run, archs))
        return [{"place": float(a[0])} for a in archs]

    archs = [(0, 2, *[0] * 6), (1, 0, *[0] * 6), (2, 2, *[0] * 6)]
    assert [m["place"] for m in ask_parts(parts, Macro(), archs, ask)] == [0, 1, 2]
    assert asked == [(parts[2], [archs[0], archs[2]]), (parts[0], [archs[1]])]


def test_scores_are_those_of_the_parts(parts: list[str]) -> None:
    archs = [(1, gene, *[0] * 6) for gene in range(3)]
    found = ask_parts(parts, Macro(), archs, lambda run, some: score(run, Macro(), some))
    assert found == [score(run, Macro(), [arch])[0] for run, arch in zip(parts, archs, strict=True)]
    assert len({m["valid/cross_entropy"] for m in found}) == 3


def test_rank_takes_them_between_commas(parts: list[str]) -> None:
    result = rank("macro", score=",".join(parts), truth="mean_acc", sample=12, sample_top=0)
    assert result.n == 12
    assert any("is valid/cross_entropy" in w for w in result.warnings)
    with pytest.raises(InputError, match=r"no run was trained on MB6_K5 as layer1, which \d+ of 12 networks have"):
        rank("macro", score=",".join(parts[:2]), truth="mean_acc", sample=12, sample_top=0)


def test_runs_that_are_no_parts_are_refused(parts: list[str], trained: Path, tmp_path: Path) -> None:
    assert parts_of(parts) == ("layer1", dict(zip(OPTIONS, parts, strict=True)))
    with pytest.raises(RunError, match="its sampler must be fixed, got strict_fair"):
        parts_of([parts[0], str(trained)])
    with pytest.raises(InputError, match="were both trained on Identity as layer1"):
        parts_of([parts[0], parts[0]])
    other = part(tmp_path / "other", "MB3_K3", choice="layer2")
    with pytest.raises(InputError, match=r"split one choice, got layer1 in .*, layer2 in"):
        parts_of([parts[0], other])
    with pytest.raises(RunError, match="layer1 fixed, which nasbench201 does not have"):
        ask_parts(parts, NASBench201(), [(0,) * 6], lambda run, archs: [])
