from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from supernetic import cli

BAD = [
    (["cost", "nasbench21", "0"], "did you mean 'nasbench201'"),
    (["cost", "macro", "9,9,9,9,9,9,9,9"], "must lie in 0..2, got 9"),
    (["cost", "macro", "1,2"], "has 8 integers, got 2"),
    (["cost", "macro", "macro-best", "--scale", "width=-1"], "width"),
    (["cost", "--of-search", "--speeds", "H100=9"], "did you mean 'V100'"),
    (["cost", "--of-search", "--budgets", "many"], "a value is a number"),
    (["cost", "macro"], "needs a space and an architecture"),
    (["sample", "macro", "--where", "macs"], "--where is NAME"),
    (["sample", "macro", "--where", "mac<=3M"], "did you mean 'macs'"),
    (["sample", "macro", "--where", "macs<=3K"], "run from 7.713M to 105.7M"),
    (["rank", "--score", "macs", "--truth", "c10_test_200", "--seed", "-1"], "negative, got -1"),
    (["cost", "nasbench201:cells=99999", "all-none"], "cells must lie in 1..100"),
    (["sample", "macro", "-n", "0"], "at least 1, got 0"),
    (["sample", "macro", "-n", "many"], "many"),
    (["sample", "--table", "macro"], "needs --table, --equidistant and --by"),
    (["rank", "--score", "c10_valid_12", "--truth", "c10_test_20"], "did you mean 'c10_test_200'"),
    (["rank", "--score", "macs", "--truth", "c10_test_200", "--without", "pool"], "unknown operation 'pool'"),
    (["rank", "--score", "missing.csv", "--truth", "c10_test_200"], "missing.csv"),
    (["rank", "--score", "macs", "--truth", "c10_test_200", "--sample", "-3"], "must not be negative, got -3"),
    (["rank", "--score", "macs", "--truth", "c10_test_200", "--combine", "log"], "did you mean 'log-rank'"),
    (["rank", "--space", "macro", "--score", "jacov", "--truth", "mean_acc", "--data", "nowhere"], "nowhere"),
    (["latency", "attentive-a1", "--batch", "one"], "whole numbers separated by commas, got 'one'"),
    (["robustness", "nowhere"], "nowhere"),
    (["rank", "--score", "macs", "--truth", "c10_test_200", "--top", "ten"], "--top takes whole numbers"),
    (["fly"], "fly"),
    (["sample", "macro", "--wher", "macs<=3"], "--wher"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda a: " ".join(a) if isinstance(a, list) else "")
def test_bad_input_is_one_line(arguments: list[str], message: str, refused: Callable[[list[str], str], str]) -> None:
    assert refused(arguments, message) == ""


def test_stable_keys(parsed: Callable[..., Any]) -> None:
    spaces = parsed("spaces")["spaces"]
    assert {"name", "size", "size_log10", "choices", "paper"} <= spaces[0].keys()
    cost = parsed("cost", "attentive", "attentive-a0")
    assert (cost["macs"], cost["params"]) == (203_389_568, 8_954_184)
    assert {"name", "label", "macs", "params"} <= cost["layers"][0].keys()
    rank = parsed("rank", "--score", "c10_valid_12", "--truth", "c10_test_200")
    assert {"tau", "tau_scalenet", "tau_b", "spearman", "pearson", "n", "interval", "top_n"} <= rank.keys()
    assert {"n", "tau", "interval", "mean_score"} <= rank["top_n"][0].keys()
    few = parsed("rank", "--score", "c10_valid_12", "--truth", "c10_test_200", "--top", "10,20")
    assert [group["n"] for group in few["top_n"]] == [10, 20]
    assert rank["interval"][0] <= rank["tau"] <= rank["interval"][1]


def test_what_people_see(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["spaces"])
    assert "scarlet-s2" in capsys.readouterr().out
    cli.main(["cost", "scarlet-s2", "scarlet-a4"])
    assert "4,183,711,768 MACs" in capsys.readouterr().out
    cli.main(["cost", "--of-search"])
    assert "AttentiveNAS" in capsys.readouterr().out
    cli.main(["sample", "macro", "-n", "3", "--where", "macs<=50M"])
    out, err = capsys.readouterr()
    assert out.count("\n") == 3
    assert "2,338 architectures qualify" in err
    cli.main(["sample", "--table", "nasbench201", "--equidistant", "5", "--by", "c10_valid_200", "--drop-worst", "10%"])
    assert "91.607" in capsys.readouterr().out
    cli.main(["rank", "--score", "macs", "--truth", "c10_test_200", "--without", "none,avg_pool_3x3"])
    assert "729" in capsys.readouterr().out
