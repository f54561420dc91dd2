from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic import load_space
from supernetic.benchmarks import macro, nasbench201
from supernetic.commands.rank.command import rank
from supernetic.commands.rank.result import RankResult
from supernetic.commands.rank.scores import GivenNumbers
from supernetic.costs import costs_of
from supernetic.errors import InputError, RunError, TableError, UnknownNameError
from supernetic.progress import Event
from supernetic.ranking.combine import combine_ranks
from supernetic.ranking.correlation import tau
from supernetic.space import Arch

SUPERNETS = Path(__file__).parents[4] / "shared/data/nasbench201_published_supernets.npz"


def nb201(score: Any, **settings: Any) -> RankResult:
    return rank(score=score, truth="c10_test_200", **settings)


@pytest.mark.parametrize(
    ("score", "whole", "top"),
    [("macs", 0.552, 0.078), ("c10_valid_12", 0.594, 0.349), ("c10_valid_200", 0.892, 0.510)],
)
def test_reference_numbers_on_nasbench201(score: str, whole: float, top: float) -> None:
    result = nb201(score)
    assert (result.n, result.counts) == (15_625, "encodings")
    assert result.tau == pytest.approx(whole, abs=5e-4)
    assert result.top10pct.tau == pytest.approx(top, abs=3e-3)  # equal accuracies at the border decide the last digit
    assert result.interval[0] < result.tau < result.interval[1]


def test_tau_b_reads_higher_where_scores_tie() -> None:
    assert nb201("macs").tau_b == pytest.approx(0.578, abs=5e-4)


@pytest.mark.skipif(not SUPERNETS.exists(), reason="needs ../shared/data/nasbench201_published_supernets.npz")
@pytest.mark.parametrize(("column", "whole", "top"), [("oneshot", 0.483, -0.229), ("fewshot", 0.549, -0.080)])
def test_published_supernets(tmp_path: Path, column: str, whole: float, top: float) -> None:
    table = nasbench201.load()
    with np.load(SUPERNETS) as published:
        np.savez(tmp_path / "s.npz", archs=table.archs, score=published[f"{column}_supernet_c10"])
    result = nb201(str(tmp_path / "s.npz"))
    assert result.tau == pytest.approx(whole, abs=5e-4)
    assert result.top10pct.tau == pytest.approx(top, abs=3e-3)


@pytest.mark.parametrize(("score", "whole", "top"), [("macs", 0.546, 0.329), ("params", 0.215, 0.135)])
def test_reference_numbers_on_macro(score: str, whole: float, top: float) -> None:
    result = rank("macro", score=score, truth="mean_acc")
    assert (result.n, result.counts) == (3969, "networks")
    assert result.tau == pytest.approx(whole, abs=5e-4)
    assert result.top10pct.tau == pytest.approx(top, abs=5e-4)


def test_counting_encodings_or_networks() -> None:
    assert rank("macro", score="macs", truth="mean_acc", unique=False).n == 6561
    merged = nb201("macs", unique=True)
    assert (merged.n, merged.counts) == (4930, "networks")


def test_chains_of_nasbench101_count_as_63_networks(tmp_path: Path) -> None:
    archs = np.array(list(product(range(3), repeat=5)), dtype=np.int8)
    path = tmp_path / "chains.npz"
    np.savez(path, archs=archs, acc=(archs == 1).sum(axis=1))
    assert rank("nasbench101-chain", score="macs", truth="acc", table=path).n == 63
    assert rank("nasbench101-chain", score="macs", truth="acc", table=path, unique=False).n == 243


def test_masked_operations() -> None:
    result = nb201("c10_valid_12", without=("none", "avg_pool_3x3"))
    assert result.n == 729
    assert result.random.n == 729
    assert result.to_json()["without"] == ["none", "avg_pool_3x3"]
    assert result.lines()[1] == "on nasbench201 without none, avg_pool_3x3, 729 encodings"
    assert set(result.usage[0].usage) == {"skip_connect", "nor_conv_1x1", "nor_conv_3x3"}
    spelled = rank("nasbench201:without=none+avg_pool_3x3", score="c10_valid_12", truth="c10_test_200")
    assert spelled.tau == result.tau
    assert [g.n for g in nb201("macs", without=("none", "avg_pool_3x3", "skip_connect")).top_n] == [10, 25, 50, 64]


def test_scores_combine_by_mean_rank() -> None:
    table = nasbench201.load()
    macs = costs_of(table.space, table.archs).astype(float)
    both = combine_ranks([table["c10_valid_12"].values, macs])
    result = nb201("c10_valid_12 + macs")
    assert result.tau == pytest.approx(tau(both, table["c10_test_200"].values))
    assert result.tau > max(nb201("c10_valid_12").tau, nb201("macs").tau)


def test_scores_are_held_against_one_another() -> None:
    result = nb201("c10_valid_12", against="macs")
    assert result.against is not None
    assert result.against.more == pytest.approx(result.tau - nb201("macs").tau)
    assert result.against.more_top10pct == pytest.approx(result.top10pct.tau - nb201("macs").top10pct.tau)
    low, high = result.against.interval
    assert 0 < low < result.against.more < high
    assert any("against      macs: better, tau +0.042 [" in line for line in result.lines())
    assert result.to_json()["against"]["score"] == "macs"
    descending = nb201("macs", against="c10_valid_12").against
    assert descending is not None
    assert ": worse, tau -0.042 [" in descending.line()
    few = nb201("macs", against="c10_valid_12", sample=500, sample_top=100).against
    assert few is not None
    assert few.interval[0] < 0 < few.interval[1]
    assert ": not significant, tau -0.04" in few.line()
    joined = nb201("macs + c10_valid_12", against="macs + c10_valid_12").against
    assert joined is not None
    assert (joined.more, joined.more_top10pct) == (0.0, 0.0)
    assert nb201("macs").against is None
    with pytest.raises(UnknownNameError, match="unknown score 'mac'"):
        nb201("c10_valid_12", against="mac")


def test_latency_is_a_score_as_it_stands() -> None:
    assert nb201("lat_ms_pixel3").tau > 0.3


def test_a_users_file_covers_some_architectures(tmp_path: Path) -> None:
    table = nasbench201.load()
    rows = np.arange(0, 15_625, 100)
    lines = [f"{table.space.format(tuple(table.archs[r]))},{table['c10_valid_200'].values[r]},{r}" for r in rows]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["arch,mine,other", *lines]))
    result = nb201(f"{path}:mine")
    assert result.n == len(rows)
    assert result.tau == pytest.approx(tau(table["c10_valid_200"].values[rows], table["c10_test_200"].values[rows]))
    assert any(f"{15_625 - len(rows)} of 15625" in w for w in result.warnings)
    with pytest.raises(InputError, match=r"mine\.csv has several columns: .* one of mine, other"):
        nb201(str(path))
    with pytest.raises(UnknownNameError, match="did you mean 'mine'"):
        nb201(f"{path}:minee")


def test_a_users_file_may_list_any_encoding_of_a_network(tmp_path: Path) -> None:
    table = macro.load()
    group = table.networks()
    last = [int(np.flatnonzero(group == g)[-1]) for g in range(0, 3969, 20)]
    lines = [f"{table.space.format(tuple(table.archs[r]))},{r % 17}" for r in last]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["arch,score", *lines]))
    assert rank("macro", score=str(path), truth="mean_acc").n == len(last)


def test_a_users_table_is_truth_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = [f"{a}{b}000000,{a + b},{a * b}" for a in range(3) for b in range(3)]
    path.write_text("\n".join(["arch,score,acc", *rows]))
    result = rank("macro", score="score", truth="acc", table=path)
    assert result.n == 9
    assert result.truth_split == ""
    assert any("only 9 networks" in w for w in result.warnings)


def test_the_same_seed_gives_the_same_result() -> None:
    assert nb201("macs", seed=3).to_json() == nb201("macs", seed=3).to_json()
    assert nb201("macs", seed=3).random != nb201("macs", seed=4).random


def test_doubtful_scores_are_remarked_on() -> None:
    assert nb201("c10_valid_200").warnings == ()
    assert any("holds test data" in w for w in nb201("c10_test_12").warnings)
    assert any("both score and truth" in w for w in nb201("c10_test_200").warnings)


@pytest.mark.parametrize(
    ("settings", "error", "why"),
    [
        ({"score": "mcas", "truth": "c10_test_200"}, UnknownNameError, "unknown score 'mcas': did you mean 'macs'"),
        ({"score": "macs", "truth": "c10_tst_200"}, UnknownNameError, "did you mean 'c10_test_200'"),
        ({"score": "macs+", "truth": "c10_test_200"}, UnknownNameError, "unknown score ''"),
        ({"score": "no.csv", "truth": "c10_test_200"}, TableError, r"no\.csv does not exist"),
        ({"score": "macs", "truth": "c10_test_200", "without": ["pool"]}, UnknownNameError, "operation 'pool'"),
        ({"space": "attentive", "score": "macs", "truth": "acc"}, TableError, "no table of attentive is bundled"),
        ({"space": "nasbench2001", "score": "macs", "truth": "acc"}, UnknownNameError, "did you mean 'nasbench201'"),
        ({"score": "macs", "truth": "c10_test_200", "table": "macro"}, InputError, "the table macro holds"),
        ({"score": "macs", "truth": "c10_test_200", "top": []}, InputError, "at least 2, got none"),
        ({"score": "macs", "truth": "c10_test_200", "top": [1, 10]}, InputError, "at least 2, got 1, 10"),
    ],
)
def test_bad_input(settings: dict[str, Any], error: type[InputError], why: str) -> None:
    with pytest.raises(error, match=why) as caught:
        rank(**settings)
    assert "\n" not in str(caught.value)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from supernetic.commands.rank.command import rank; rank(score='macs', truth='c10_test_200');"
        "sys.exit(any(m in sys.modules for m in ('torch', 'scipy', 'moocore')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- supernets as scores ----------------------------------------------------------------------------------------------


def on_macro(score: str, **settings: Any) -> RankResult:
    return rank("macro", score=score, truth="mean_acc", **{"sample": 40, "sample_top": 12, **settings})


def test_a_run_scores_a_sample_and_some_of_the_top(run: Path) -> None:
    result = on_macro(str(run))
    assert (result.n, result.top10pct.n) == (40, 12)
    assert result.sampled == "drawn from 3,969, and 12 of their top 10 %"
    assert any("valid/cross_entropy; lower is better, so its sign is reversed" in w for w in result.warnings)
    scores = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    assert len(scores) <= 52
    table = macro.load()
    x = np.array([-r["metrics"]["valid/cross_entropy"] for r in scores])
    y = table.lookup(np.array([r["arch"] for r in scores], dtype=np.int8), "mean_acc")
    top = y >= np.quantile(table.unique()["mean_acc"].values, 0.9)
    assert top.sum() >= 12
    assert tau(x, y) == pytest.approx(result.tau, abs=0.3)  # of the same networks and a few more


def test_a_runs_metric_can_be_chosen_and_combined(run: Path) -> None:
    accuracy = on_macro(f"{run}:accuracy")
    assert accuracy.tau == on_macro(f"{run}:valid/accuracy").tau
    assert not any("sign is reversed" in w for w in accuracy.warnings)
    both, alone, macs = on_macro(f"{run}+macs"), on_macro(str(run)), on_macro("macs")
    assert len({both.tau, alone.tau, macs.tau}) == 3
    assert macs.n == both.n == 40
    with pytest.raises(UnknownNameError, match="did you mean 'accuracy'"):
        on_macro(f"{run}:acuracy")


def test_the_seed_draws_the_sample_and_0_takes_all() -> None:
    assert on_macro("macs").tau == on_macro("macs").tau != on_macro("macs", seed=1).tau
    whole = on_macro("macs", sample=0)
    assert (whole.n, whole.sampled) == (3969, "")
    assert whole.tau == rank("macro", score="macs", truth="mean_acc").tau


def test_bad_runs_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run"):
        on_macro(str(tmp_path))
    with pytest.raises(RunError, match="a supernet of macro, not of nasbench201"):
        nb201(str(run), sample=5)
    with pytest.raises(InputError, match="the truth must be a column or given numbers"):
        rank("macro", score="macs", truth=str(run))
    with pytest.raises(InputError, match="sample must not be negative, got -1"):
        on_macro("macs", sample=-1)


# --- proxies as scores ------------------------------------------------------------------------------------------------

TINY = "macro:channels=4,resolution=8,head=16"


def test_proxies_score_a_sample_and_combine() -> None:
    settings: dict[str, Any] = {"truth": "mean_acc", "sample": 20, "sample_top": 5}
    events: list[Event] = []
    one, two = (
        rank(TINY, score="naswot + layers", on_event=events.append, combine=combine, **settings)
        for combine in ("mean-rank", "log-rank")
    )
    assert (one.n, one.top10pct.n, one.score) == (20, 5, "naswot + layers")
    assert one.pearson != two.pearson
    assert (events[-1].task, events[-1].item) == ("score", "naswot + layers")
    assert events[-1].done == events[-1].total <= 25
    again = rank(TINY, score="proxy/layers", **settings)
    assert again.tau == rank(TINY, score="layers", **settings).tau != one.tau


def test_log_ranks_are_for_any_scores() -> None:
    table = nasbench201.load()
    macs = costs_of(table.space, table.archs).astype(float)
    both = combine_ranks([table["c10_valid_12"].values, macs], how="log-rank")
    result = nb201("c10_valid_12 + macs", combine="log-rank")
    assert result.tau == pytest.approx(tau(both, table["c10_test_200"].values))


def test_a_column_comes_before_a_proxy_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("arch,layers,acc\n00000000,3,1\n10000000,2,2\n20000000,1,3\n")
    assert rank("macro", score="layers", truth="acc", table=path).tau == -1
    assert rank("macro", score="acc", truth="layers", table=path).tau == -1


def test_bad_proxies() -> None:
    with pytest.raises(UnknownNameError, match="unknown way to combine scores 'log': did you mean 'log-rank'"):
        nb201("macs", combine="log")
    with pytest.raises(InputError, match="not a proxy or a score of networks; got jacov"):
        rank("macro", score="macs", truth="jacov")
    with pytest.raises(UnknownNameError, match="did you mean 'naswot'"):
        nb201("naswott")
    with pytest.raises(InputError, match="nowhere"):
        rank(TINY, score="jacov", truth="mean_acc", sample=3, data="nowhere")


def test_trainings_on_a_subset_score_a_few() -> None:
    """By default twenty and none of the top; joined with others like any score."""
    score = "subset:size=20,epochs=1+macs"
    result = rank("nasbench201:cells=1,channels=1,resolution=8", score=score, truth="c10_test_200")
    assert (result.n, result.top10pct.n) == (20, 2)
    assert result.sampled.startswith("drawn from ")
    assert any("is valid/calibrated_cross_entropy; lower is better" in w for w in result.warnings)
    assert not any("test data" in w for w in result.warnings)


def test_bad_trainings_on_a_subset() -> None:
    with pytest.raises(UnknownNameError, match="unknown setting of subset 'sise'"):
        nb201("subset:sise=3")
    with pytest.raises(InputError, match="not a proxy or a score of networks; got subset:size=500"):
        rank("macro", score="macs", truth="subset:size=500")
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        rank("macro", score="subset", truth="mean_acc", workers=0)


# --- one's own numbers and functions ----------------------------------------------------------------------------------


def test_given_numbers_are_a_score_like_a_column() -> None:
    table = nasbench201.load()
    column, truth = table["c10_valid_12"].values, table["c10_test_200"].values
    expected = nb201("c10_valid_12").to_json()
    by_arch = dict(zip(table, column.tolist(), strict=True))
    for given in (column, column.tolist(), by_arch, by_arch.__getitem__, GivenNumbers(column, "mine")):
        assert nb201(given).to_json() | {"score": "c10_valid_12"} == expected
    both = rank(score=column, truth=truth)
    assert (both.tau, both.score, both.truth, both.truth_about) == (expected["tau"], "given score", "given truth", "")
    assert rank(score="c10_valid_12", truth=dict(zip(table, truth, strict=True))).tau == expected["tau"]
    assert rank(score="c10_valid_12", truth=lambda arch: by_arch[arch]).tau > 0.99
    assert both.lines()[0] == "given score against given truth"


def test_given_numbers_follow_masks_and_networks() -> None:
    table = nasbench201.load()
    column = table["c10_valid_12"].values
    by_arch = dict(zip(table, column.tolist(), strict=True))
    masked = nb201("c10_valid_12", without=("none", "avg_pool_3x3"))
    for given in (column, by_arch, by_arch.__getitem__):
        assert nb201(given, without=("none", "avg_pool_3x3")).tau == masked.tau
        unique = nb201(given, unique=True)
        assert unique.n == 4930
    assert nb201(column, unique=True).tau == nb201("c10_valid_12", unique=True).tau


def test_given_numbers_are_joined_and_held_against_others() -> None:
    column = nasbench201.load()["c10_valid_12"].values
    joined = nb201([column, "macs"], against=column)
    assert joined.score == "given score 1 + macs"
    assert joined.tau == nb201("c10_valid_12+macs").tau
    assert joined.against is not None
    assert joined.against.score == "given other score"
    assert joined.against.more == pytest.approx(joined.tau - nb201("c10_valid_12").tau)


def test_a_function_is_called_for_the_sample_alone() -> None:
    calls: list[Arch] = []

    def depth(arch: Arch) -> float:
        calls.append(arch)
        return float(np.count_nonzero(arch))

    result = rank("macro", score=depth, truth="mean_acc", sample=40, sample_top=10)
    assert (result.score, result.n, result.top10pct.n) == ("depth", 40, 10)
    assert 40 <= len(calls) == len(set(calls)) <= 50
    assert result.tau > 0


def test_missing_numbers_are_left_out() -> None:
    column = nasbench201.load()["c10_valid_12"].values.copy()
    column[:600] = np.nan
    assert nb201(column).n == 15_025
    assert "600 of 15625 architectures lack a number and are left out" in nb201(column).warnings
    some = nb201(lambda arch: np.nan if arch[0] == 0 else sum(arch))
    assert some.n == 15_625 * 4 / 5
    assert "3125 of 15625 architectures lack a number and are left out" in some.warnings


def test_a_space_without_a_table_ranks_what_is_given() -> None:
    space = load_space("attentive")
    archs = [tuple(a) for a in space.sample(np.random.default_rng(0), 40).tolist()]
    x, y = np.random.default_rng(1).normal(size=(2, 40))
    by_arch = [dict(zip(archs, values, strict=True)) for values in (x, y)]
    result = rank(space, score=by_arch[0], truth=by_arch[1])
    assert (result.space, result.n) == ("attentive", 40)
    assert result.tau == pytest.approx(tau(x, y))
    assert rank(space, score=x, truth=y, table=archs).tau == pytest.approx(tau(x, y))
    assert rank(space, score="macs", truth=by_arch[1]).n == 40
    fewer = rank(space, score=by_arch[0], truth=dict(list(by_arch[1].items())[:30]))
    assert fewer.n == 30
    assert "10 of 40 architectures lack a number and are left out" in fewer.warnings


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"score": [1.0, 2.0]}, "given score must have a number for each of the 15625 rows of nasbench201, got 2"),
        ({"score": "macs", "truth": np.zeros(3)}, "given truth must have a number for each of the 15625 rows"),
        ({"score": {(0, 0): 1.0}}, "an architecture of nasbench201 has 6 integers, got 2"),
        ({"score": {(9,) * 6: 1.0}}, "must lie in 0..4, got 9"),
        ({"score": {(0,) * 6: 1.0}}, "a ranking needs two architectures with given score and c10_test_200, got 1"),
        ({"score": lambda arch: "much"}, r"given score must give a number for \(4, 2, 1, 2, 1, 1\), got 'much'"),
        ({"space": "attentive", "score": [1.0], "truth": [2.0]}, "no table of attentive is bundled"),
    ],
)
def test_bad_numbers(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        rank(**{"truth": "c10_test_200", **settings})
    assert "\n" not in str(caught.value)
