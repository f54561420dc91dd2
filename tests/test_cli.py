"""The command line as a user meets it: real processes, exit codes, one line for bad input, plain JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from supernetic import cli


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "supernetic.cli", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def parsed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    cli.main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


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
    (["train", "macroo"], "did you mean 'macro'"),
    (["train", "macro", "nowhere/at-all"], "does not exist"),
    (["train", "efficientnet"], "has no supernet"),
    (["train", "macro", "--steps", "0"], "at least 1, got 0"),
    (["train", "macro:side=8", "--stabiliser", "skips"], "did you mean 'skip'"),
    (["train", "macro:side=8", "--recipe", "missing.toml"], "missing.toml"),
    (["search", "--table", "nasbench301"], "nasbench201"),
    (["search", "--table", "nasbench201", "--objective", "best"], "'max NAME' or 'min NAME'"),
    (["search", "--table", "nasbench201", "--objective", "max c10_test_200"], "--oracle"),
    (["search", "--table", "nasbench201", "--searcher", "magic"], "unknown searcher 'magic'"),
    (["search", "--table", "nasbench201", "--where", "macs<=1M"], "macs"),
    (["fly"], "fly"),
    (["sample", "macro", "--wher", "macs<=3"], "--wher"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda a: " ".join(a) if isinstance(a, list) else "")
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as leaving:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert leaving.value.code == 2
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert out == ""
    assert not list(tmp_path.iterdir())


def test_processes_end_with_the_same_codes(tmp_path: Path) -> None:
    assert run("--version").stdout.strip() == "0.1.0"
    assert run("spaces").returncode == 0
    bad = run("cost", "nowhere", "0")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    assert "Usage" in run().stdout


def test_json_is_all_there_is_on_stdout() -> None:
    done = run("sample", "attentive", "-n", "2", "--where", "macs<=300M", "--json")
    record = json.loads(done.stdout)
    assert {"archs", "macs", "trials_per_sample", "seconds"} <= record.keys()
    assert done.stdout.count("\n") == 1


def test_stable_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spaces = parsed(capsys, "spaces")["spaces"]
    assert {"name", "size", "size_log10", "choices", "paper"} <= spaces[0].keys()
    cost = parsed(capsys, "cost", "attentive", "attentive-a0")
    assert (cost["macs"], cost["params"]) == (203_389_568, 8_954_184)
    assert {"name", "label", "macs", "params"} <= cost["layers"][0].keys()
    rank = parsed(capsys, "rank", "--score", "c10_valid_12", "--truth", "c10_test_200")
    assert {"tau", "tau_scalenet", "tau_b", "spearman", "pearson", "n", "interval", "top_n"} <= rank.keys()
    assert {"n", "tau", "interval", "mean_score"} <= rank["top_n"][0].keys()
    assert rank["interval"][0] <= rank["tau"] <= rank["interval"][1]
    found = parsed(
        capsys, "search", "--table", "nasbench201", "--objective", "max c10_valid_200", "--objective", "min macs",
        "--where", "macs<=100M", "--evaluations", "200", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert {"run", "front", "hypervolume", "reference", "evaluations"} <= found.keys()
    assert {"arch", "name", "metrics"} <= found["front"][0].keys()
    assert all(m["metrics"]["cost/macs"] <= 100e6 for m in found["front"])


def test_what_people_see(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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
    cli.main(["search", "--table", "macro", "--oracle", "--evaluations", "50", "--out", str(tmp_path / "run")])
    assert "front" in capsys.readouterr().out


def test_a_foreign_run_directory_is_refused(tmp_path: Path) -> None:
    here = str(tmp_path / "run")
    first = ["search", "--table", "nasbench201", "--evaluations", "60", "--out", here]
    assert run(*first).returncode == 0
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    refused = run(*first, "--seed", "1")
    assert refused.returncode == 2
    assert "seed" in refused.stderr
    after = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    assert after == before
    assert run(*first).returncode == 0


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m supernetic.cli sample macro -n 20000 | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_train_then_rank(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    settings = ["macro:channels=4,side=8,head=16", "--limit", "300", "--steps", "2"]
    plan = parsed(capsys, "train", *settings, "--dry-run")
    assert (plan["run"], plan["steps"], plan["paths"]) == (None, 2, 3)
    done = parsed(capsys, "train", *settings, "--out", out)
    assert done["run"] == out
    assert done["loss"] > 0
    ranking = ["rank", "--space", "macro", "--score", f"{out}+macs", "--truth", "mean_acc", "--sample", "30"]
    result = parsed(capsys, *ranking, "--sample-top", "5", "--bn", "batch")
    assert (result["n"], result["top10pct"]["n"]) == (30, 5)
