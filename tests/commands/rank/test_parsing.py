from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.benchmarks import nasbench201
from supernetic.commands.rank.network_scores import (
    ImageOptions,
    ProxyScore,
    SubsetSettings,
    SubsetTrainingScore,
)
from supernetic.commands.rank.parsing import ScoreParser, ScoreSettings, find_table
from supernetic.commands.rank.run_score import RunScore, find_runs
from supernetic.commands.rank.scores import (
    Combined,
    CostColumn,
    FileColumn,
    GivenFunction,
    GivenNumbers,
    Score,
    TableColumn,
)
from supernetic.errors import ArchError, InputError, RunError, TableError, UnknownNameError
from supernetic.hardware import CPU
from supernetic.space import Arch
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.nasbench201 import NASBench201


def parser(**settings: Any) -> ScoreParser:
    return ScoreParser(nasbench201.load(), ScoreSettings(**settings))


def parse(given: Any) -> Score:
    return parser().parse(given)


def make_run(path: Path) -> str:
    path.mkdir(exist_ok=True)
    (path / "run.toml").write_text("")
    return str(path)


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_is_given_or_bundled() -> None:
    table = nasbench201.load()
    assert find_table(Attentive(), table) is table
    assert len(find_table(table.space, None)) == len(table)
    with pytest.raises(TableError, match="no table of attentive is bundled"):
        find_table(Attentive(), None)
    with pytest.raises(TableError, match="no table of attentive is bundled"):
        find_table(Attentive(), None, "macs", len, [1.0, 2.0])


def test_without_a_table_the_architectures_are_those_that_have_numbers() -> None:
    space = Attentive()
    a, b, c = (tuple(x) for x in space.sample(np.random.default_rng(0), 3).tolist())
    table = find_table(space, None, {a: 1.0, b: 2.0}, ["macs", GivenNumbers({c: 1.0, a: 3.0}, "mine")])
    assert set(table) == {a, b, c}
    assert not table.columns
    archs: list[Arch | str] = [c, space.format(a)]
    assert list(find_table(space, archs)) == [c, a]
    assert list(find_table(space, np.array([c, a]))) == [c, a]
    with pytest.raises(ArchError, match="an architecture of attentive has 31 integers, got 2"):
        find_table(space, None, {(1, 2): 1.0})


# --- text -------------------------------------------------------------------------------------------------------------


def test_text_says_which_kind_of_score_it_is(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert parse("c10_valid_200") == TableColumn("c10_valid_200", "c10_valid_200")
    assert parse("table/c10_valid_200") == TableColumn("table/c10_valid_200", "c10_valid_200")
    assert parse("cost/macs") == CostColumn("cost/macs", "macs")
    assert parse("mine.csv:x y") == FileColumn("mine.csv:x y", "mine.csv", "x y")
    assert parse("mine.npz") == FileColumn("mine.npz", "mine.npz")
    assert parse(Path(run)) == RunScore(run, (run,), "valid/cross_entropy", "recalibrate", CPU)
    assert parser(bn="batch").parse(f"{run}:angle") == RunScore(f"{run}:angle", (run,), "proxy/angle", "batch", CPU)
    found = parser(data="cifar10", seed=3, workers=2).parse("subset:size=40")
    assert found == SubsetTrainingScore("subset:size=40", SubsetSettings(40), ImageOptions("cifar10"), 3, 2)
    proxy = parser(data="cifar10", seed=3).parse("proxy/jacov")
    assert isinstance(proxy, ProxyScore)
    assert (proxy.name, proxy.batch.data, proxy.batch.seed, proxy.batch.names) == (
        "proxy/jacov",
        ImageOptions("cifar10"),
        3,
        ["proxy/jacov"],
    )


def test_scores_are_split_but_names_of_files_are_not(tmp_path: Path) -> None:
    joined = parse(" naswot + subset:size=500,seeds=2+macs")
    assert joined.name == "naswot + subset:size=500,seeds=2+macs"
    assert [s.name for s in joined.parts] == ["naswot", "subset:size=500,seeds=2", "macs"]
    file = tmp_path / "a+b.csv"
    file.write_text("")
    assert parse(f"{file}:x") == FileColumn(f"{file}:x", str(file), "x")
    run = make_run(tmp_path / "c+d")
    assert parse(f"{run}:valid/accuracy") == RunScore(f"{run}:valid/accuracy", (run,), "valid/accuracy", hardware=CPU)


def test_other_scores_stay_what_they_are_inside_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert isinstance(parse("jacov"), ProxyScore)
    assert [s.name for s in parse("macs+jacov").parts] == ["macs", "jacov"]
    assert find_runs("jacov") is None
    assert find_runs(".,") is None
    assert find_runs(".") == ((".",), "")


def test_the_disk_is_asked_once_for_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("supernetic.commands.rank.parsing.find_runs", asked.append)
    two = parser()
    assert two.parse("jacov") is two.parse_single("jacov", "score")
    assert two.parse(["jacov", "c10_valid_12"]).parts[0] is two.parse("jacov")
    assert asked == ["jacov"]


def test_proxies_of_a_ranking_are_measured_together() -> None:
    one = parser()
    first, second = one.parse("jacov+macs").parts[0], one.parse("naswot")
    assert isinstance(first, ProxyScore)
    assert isinstance(second, ProxyScore)
    assert first.batch is second.batch
    assert first.batch.names == ["jacov", "naswot"]


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("subse", UnknownNameError, "unknown score 'subse': did you mean 'subset'"),
        ("subset:sise=40", InputError, "unknown setting of subset 'sise'"),
        ("", UnknownNameError, "unknown score ''"),
        ("RUN:angel", InputError, "unknown metric 'angel': did you mean 'angle'"),
        ("DIRECTORY", RunError, "is not a run: it holds no run.toml"),
    ],
)
def test_bad_text_is_refused_before_anything_is_scored(
    text: str, error: type[InputError], why: str, tmp_path: Path
) -> None:
    text = text.replace("RUN", make_run(tmp_path / "run")).replace("DIRECTORY", str(tmp_path))
    with pytest.raises(error, match=why):
        parse(text)


def test_bad_settings_are_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown way to combine scores 'log': did you mean 'log-rank'"):
        ScoreSettings(combine="log")
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        ScoreSettings(workers=0)


# --- numbers and functions --------------------------------------------------------------------------------------------


def depth(arch: Arch) -> float:
    return float(sum(arch))


def test_numbers_and_functions_are_named_after_what_they_are_for() -> None:
    x = [1.0, 2.0]
    one = parser()
    assert one.parse(x).name == "given score"
    assert one.parse_truth(x).name == "given truth"
    assert one.parse((1, None, 2.5), "other score").name == "given other score"
    assert one.parse(np.array(x), "third").name == "given third"
    assert one.parse({(0,) * 6: 1.0}, "fourth").name == "given fourth"
    assert one.parse(depth) == GivenFunction(depth, "depth", NASBench201())
    assert one.parse(lambda arch: 1.0, "fifth").name == "given fifth"
    named = GivenNumbers(x, "mine")
    assert one.parse(named) is named


def test_a_list_joins_scores_of_any_kind() -> None:
    joined = parser(combine="log-rank").parse(["macs", np.zeros(3), depth, "c10_valid_12+params"])
    assert isinstance(joined, Combined)
    assert joined.how == "log-rank"
    assert joined.name == "macs + given score 2 + depth + c10_valid_12+params"
    assert [s.name for s in joined.parts] == ["macs", "given score 2", "depth", "c10_valid_12", "params"]
    assert parse(["macs"]) == CostColumn("macs", "macs")
    assert parse([np.zeros(3)]).name == "given score"


def test_two_scores_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two scores are called 'macs': name one of them otherwise"):
        parse([GivenNumbers([1.0], "macs"), "macs"])
    assert parse([depth, depth]).parts[0] == parse(depth)


@pytest.mark.parametrize("truth", ["jacov", "subset:size=500", "RUN", Combined("both", ())])
def test_the_truth_is_not_measured(truth: Any, tmp_path: Path) -> None:
    truth = make_run(tmp_path / "run") if truth == "RUN" else truth
    with pytest.raises(InputError, match=r"the truth must be a column or given numbers, .*; got "):
        parser().parse_truth(truth)
