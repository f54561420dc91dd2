"""Jobs from the command line: what they print, how bad input, Ctrl-C and a full disk end them, and how they go on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic import cli
from supernetic.runs.directory import open_run, read_settings

Refused = Callable[[list[str], str], str]
Process = Callable[..., subprocess.CompletedProcess[str]]
TINY = ["--space", "macro:channels=4,resolution=8,head=16"]
SHORT = [*TINY, "--steps", "2", "--network-steps", "2", "--population", "4", "--generations", "1", "--limit", "200"]
TABLE = ["search", "--table", "nasbench201", "--evaluations", "60"]
BAD = [
    (["train", "macroo"], "did you mean 'macro'"),
    (["train", "macro", "nowhere/at-all"], "does not exist"),
    (["train", "efficientnet"], "has no supernet"),
    (["train", "macro", "--steps", "0"], "at least 1, got 0"),
    (["train", "macro:resolution=8", "--stabiliser", "skips"], "did you mean 'skip'"),
    (["train", "macro:resolution=8", "--recipe", "missing.toml"], "missing.toml"),
    (["search", "--table", "nasbench301"], "nasbench201"),
    (["search", "--table", "nasbench201", "--objective", "best"], "'max NAME' or 'min NAME'"),
    (["search", "--table", "nasbench201", "--objective", "max c10_test_200"], "--allow-test-columns"),
    (["search", "--table", "nasbench201", "--searcher", "magic"], "unknown searcher 'magic'"),
    (["search", "--table", "nasbench201", "--where", "macs<=1M"], "macs"),
    (["search", "--table", "nasbench201", "--minutes", "3"], "--minutes belongs to a search on images"),
    (["search", "--allow-test-columns"], "--allow-test-columns belongs to a search on a table"),
    (["search", "--without", "none"], "--without belongs to a search on a table"),
    (["search", "--table", "nasbench201", "--weights", "1,two"], "--weights takes numbers separated by commas"),
    (["search", "--table", "nasbench201", "--weights", "1,2,3"], "weights must be 2 numbers >= 0"),
    (["search", "--table", "nasbench201", "--without", "pool"], "unknown operation 'pool'"),
    (["search", "empty"], "empty is empty"),
    (["search", "hollow"], "the class 'a' has no image"),
    (["search", "one"], "two classes or more, got a"),
    (["search", "few"], "the split valid is empty"),
    (["search", "fewer.npz"], "3 classes need as many training images or more, got 2"),
    (["search", "corrupt"], "corrupt/b/x.png is not an image that can be read"),
    (["search", "nowhere"], "unknown data set 'nowhere'"),
    (["search", *TINY, "--limit", "5"], "a limit of 5 images is below 20"),
    (["search", *TINY, "--where", "macs<=1K"], "run from 4.512K to 156.9K"),
    (["search", *TINY, "--where", "macs>=1G"], "run from 4.512K to 156.9K"),
    (["search", "--where", "macs<=1"], "its macs run from"),
    (["search", "--where", "macs<=2M", "--where", "macs>=3M"], "contradict each other: cost/macs<=2M and"),
    (["search", *TINY, "--recipe", "bad.toml"], "bad.toml: unknown setting of recipe 'lrr': did you mean 'lr'"),
    (["search", *TINY, "--retrain-recipe", "bad.toml"], "bad.toml: unknown setting of recipe 'lrr'"),
    (["search", *TINY, "--retrain", "scrach"], "did you mean 'scratch'"),
    (["search", *TINY, "--minutes", "inf"], "--minutes must be a number, got 'inf'"),
    (["search", *TINY, "--evidence", "fulll"], "did you mean 'full'"),
    (["search", *TINY, "--supernet", "maybe"], "unknown choice of a supernet 'maybe'"),
    (["search", "--supernet", "no", "--retrain", "inherit"], "--retrain inherit needs a supernet, got --supernet no"),
    (["resume", "nowhere"], "nowhere is not a run: it has no run.toml"),
    (["resume", "empty"], "empty is not a run: it has no run.toml"),
    (["select", "nowhere"], "unknown data set 'nowhere'"),
    (["select", "--models", "mlp,logistc"], "did you mean 'logistic'"),
    (["select", "--sizes", "few"], "sizes must be auto or numbers of images such as 250,500,1000, got 'few'"),
    (["search", "--out", "bad.py/run"], "the run directory bad.py/run cannot be written"),
    (["train", "macro", "--out", "empty/../few"], "few holds other files and no run.toml"),
    (["train", "macro", "--start", "empty"], "empty/run.toml cannot be read"),
    (["select", "--sizes", "0"], "sizes must be 20 images or more, got 0"),
    (["select", "--minutes", "0"], "minutes must be more than 0 and finite, got 0"),
    (["scale", "--stages", "0"], "stages must be at least 1, got 0"),
    (["scale", "--curve", "liner"], "did you mean 'linear'"),
    (["select", "--on", "train"], "unknown split to score on 'train'"),
    (["study", "nowhere.toml"], "nowhere.toml: not readable as TOML"),
    (["study", "bad.toml"], "bad.toml: unknown key of a study 'lrr'"),
]
LATE = [  # known only after something has been said about the data
    (["--baseline", "bad.py"], "bad.py line 1: SyntaxError"),
]


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory full of things that cannot be used."""
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for name in ("hollow/a", "hollow/b", "one/a", "few/a", "few/b", "corrupt/a", "corrupt/b"):
        Path(name).mkdir(parents=True)
        if not name.startswith("hollow"):
            for i in range(9 if name.startswith("corrupt") else 1):
                Image.fromarray(np.full((9, 9), i, dtype=np.uint8)).save(Path(name) / f"{i}.png")
    Path("corrupt/b/x.png").write_bytes(b"no image")
    np.savez("fewer.npz", images=np.zeros((2, 9, 9), np.uint8), labels=[0, 2], classes=["a", "b", "c"])
    Path("bad.toml").write_text("lrr = 0.1\n")
    Path("bad.py").write_text("syntax error")


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda a: " ".join(a) if isinstance(a, list) else "")
@pytest.mark.usefixtures("bad")
def test_bad_input_is_one_line(arguments: list[str], message: str, refused: Refused) -> None:
    assert refused(arguments, message) == ""


@pytest.mark.parametrize(("arguments", "message"), LATE, ids=lambda a: " ".join(a) if isinstance(a, list) else "")
@pytest.mark.usefixtures("bad")
def test_bad_input_that_is_seen_later_is_one_more_line(arguments: list[str], message: str, refused: Refused) -> None:
    assert "from the data: in_channels=1" in refused(["search", *SHORT, *arguments], message)


def test_stable_keys(parsed: Callable[..., Any], searched: Path, tmp_path: Path) -> None:
    found = parsed(
        "search", "--table", "nasbench201", "--objective", "max c10_valid_200", "--objective", "min macs",
        "--where", "macs<=100M", "--evaluations", "200", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert {"run", "front", "hypervolume", "reference", "evaluations"} <= found.keys()
    assert {"arch", "name", "metrics"} <= found["front"][0].keys()
    assert all(m["metrics"]["cost/macs"] <= 100e6 for m in found["front"])
    images = parsed("resume", str(searched))
    assert {"run", "space", "data", "front", "networks", "trust", "models"} <= images.keys()


def test_what_people_see(capsys: pytest.CaptureFixture[str], searched: Path, tmp_path: Path) -> None:
    cli.main(
        ["search", "--table", "macro", "--allow-test-columns", "--evaluations", "50", "--out", str(tmp_path / "run")]
    )
    assert "front" in capsys.readouterr().out
    cli.main([*TABLE, "--without", "none,avg_pool_3x3", "--weights", "2,1", "--out", str(tmp_path / "few"), "--quiet"])
    out, err = capsys.readouterr()
    assert ("none~" in out, "pool" in out, err) == (False, False, "")
    cli.main(["resume", str(searched)])
    out, err = capsys.readouterr()
    assert f"supernetic predict {searched}/models/model-1 IMAGE" in out
    assert err == ""


def test_a_foreign_run_directory_is_refused(process: Process, tmp_path: Path) -> None:
    here = str(tmp_path / "run")
    first = ["search", "--table", "nasbench201", "--evaluations", "60", "--out", here]
    assert process(*first).returncode == 0
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    refused = process(*first, "--seed", "1")
    assert refused.returncode == 2
    assert "seed" in refused.stderr
    after = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    assert after == before
    assert process(*first).returncode == 0


def test_train_then_rank(parsed: Callable[..., Any], tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    settings = ["macro:channels=4,resolution=8,head=16", "--limit", "300", "--steps", "2"]
    plan = parsed("train", *settings, "--dry-run")
    assert (plan["run"], plan["steps"], plan["paths"]) == (None, 2, 3)
    done = parsed("train", *settings, "--out", out)
    assert done["run"] == out
    assert done["loss"] > 0
    assert parsed("resume", out) == done
    ranking = ["rank", "--space", "macro", "--score", f"{out}+macs", "--truth", "mean_acc", "--sample", "30"]
    result = parsed(*ranking, "--sample-top", "5", "--bn", "batch")
    assert (result["n"], result["top10pct"]["n"]) == (30, 5)


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_on_stderr_unless_it_is_unwanted(
    quiet: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "run")
    settings = ["macro:channels=4,resolution=8,head=16", "--limit", "300", "--steps", "2", "--out", out, "--json"]
    cli.main(["train", *settings, *(["--quiet"] if quiet else [])])
    printed, progress = capsys.readouterr()
    assert json.loads(printed)["run"] == out
    heads = [line.partition(", loss")[0] for line in progress.splitlines() if line.startswith(("train:", "macro"))]
    assert heads == ([] if quiet else ["macro on embedded", "train: 1 of 2", "train: 2 of 2"])


def test_a_run_in_use_is_refused(searched: Path, tmp_path: Path, refused: Refused) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(searched, copy)
    (copy / "result.json").unlink()
    settings = {k: v for k, v in read_settings(copy).items() if k != "versions"}
    with open_run(copy, settings):
        refused(["resume", "copy"], "copy is in use by another process")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    """While two workers train networks; the signal goes to all processes, as from a terminal."""
    long = [*SHORT, "--network-steps", "100000", "--keep", "2", "--workers", "2", "--threads", "1", "--out", "run"]
    # A shell that starts us in the background has its children ignore Ctrl-C.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{listening}; from supernetic.cli import main; main()", "search", *long],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 300
    while not any(tmp_path.glob("run/networks/*/metrics.jsonl")) and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "supernetic: interrupted; `supernetic resume run` goes on"
    assert "Traceback" not in err
    settings = {k: v for k, v in read_settings(tmp_path / "run").items() if k != "versions"}
    open_run(tmp_path / "run", settings).close()  # nobody holds it any more


@pytest.mark.parametrize(
    ("arguments", "room", "message"),
    [
        ([*TABLE, "--out", "run"], 6_000, "the run directory run cannot be written: File too large"),
        (
            ["train", TINY[1], "--limit", "300", "--steps", "2", "--threads", "1", "--out", "run"],
            40_000,
            "cannot be written",
        ),
    ],
    ids=["records", "checkpoint"],
)
def test_a_disk_that_is_full_is_named_and_loses_nothing(
    arguments: list[str], room: int, message: str, process: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit on the size of files stands for the disk: the system refuses in the middle of a write."""
    monkeypatch.chdir(tmp_path)
    full = process(*arguments, room=room)
    assert full.returncode == 2
    assert message in full.stderr.splitlines()[-1]
    assert "Traceback" not in full.stderr
    assert not list(tmp_path.rglob("*.tmp"))
    cli.main(["resume", "run"])
    cli.main([*arguments[:-1], "whole"])
    files = ("metrics.jsonl", "supernet.safetensors") if arguments[0] == "train" else ("trials.jsonl",)
    for name in files:
        assert Path("whole", name).read_bytes() == Path("run", name).read_bytes()


def test_a_study_and_how_it_goes_on(
    parsed: Callable[..., Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One that trains nothing, so that it is quick."""
    file, out = tmp_path / "usage.toml", str(tmp_path / "usage")
    file.write_text(
        'title = "Usage"\nbase = { space = "nasbench201" }\nmeasure = { kind = "usage", truth = "c10_test_200" }\n'
    )
    assert parsed("study", str(file), "--dry-run", "--out", out)["run"] is None
    found = parsed("study", str(file), "--out", out)
    assert (found["run"], found["trainings"], found["variants"]) == (out, 0, ["all"])
    assert parsed("resume", out) == found
    cli.main(["study", str(file), "--out", out])
    assert f"the page is {out}/report.html" in capsys.readouterr().out
