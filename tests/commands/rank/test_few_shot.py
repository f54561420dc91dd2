from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.commands.rank.command import rank
from supernetic.commands.rank.few_shot import ask_parts, parts_of
from supernetic.errors import InputError, RunError
from supernetic.jobs.train.job import train
from supernetic.jobs.train.score import score
from supernetic.objective import Metrics
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

TINY = "macro:channels=4,resolution=8,head=16"
OPTIONS = ("Identity", "MB3_K3", "MB6_K5")


def part(path: Path, option: str, choice: str = "layer1", start: Path | None = None) -> str:
    train(TINY, steps=2, limit=300, sampler=f"fixed:choice={choice},option={option}", start=start, out=path)
    return str(path)


@pytest.fixture(scope="module")
def parts(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs that go on from one, each with another option of the second layer."""
    root = tmp_path_factory.mktemp("parts")
    return [part(root / option, option, start=trained) for option in OPTIONS]


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
