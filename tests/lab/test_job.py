from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import supernetic
from supernetic.errors import InputError, SupernetError
from supernetic.lab.job import check_study, study
from supernetic.lab.measures.measure import read_measure
from supernetic.lab.study_file import read_study
from supernetic.lab.trainings import Training, trainings
from supernetic.progress import Event
from supernetic.tracking import Recorder

FILES = ("measures.csv", "summary.csv", "claims.csv")


def test_a_study_leaves_tables_a_record_and_a_page(finished: Path) -> None:
    record = json.loads((finished / "study.json").read_text())
    assert (record["trainings"], record["done"], record["failed"]) == (4, 0, {})
    assert len(list((finished.parent / "trainings").glob("*/supernet.safetensors"))) == 4
    assert set(record["table"]) == {"none", "identity"}
    assert record["table"]["none"]["tau@random"]["n"] == 2
    assert record["claims"][0]["verdict"] in ("held", "did not hold", "not significant")
    page = (finished / "report.html").read_text()
    assert "Tiny &lt;study&gt;" in page
    assert all((finished / name).read_text().count("\n") > 1 for name in FILES)


def test_the_page_can_be_built_again(finished: Path) -> None:
    page = finished / "report.html"
    before = page.read_text()
    page.unlink()
    assert supernetic.report(finished).page == str(page)
    assert page.read_text() == before


def test_trackers_show_trainings_by_variant_and_seed(tiny: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.parent / "trainings", tmp_path / "trainings")
    tracker = Recorder()
    study(tiny, out=tmp_path / "out", track=tracker)
    shown = {name for name in tracker.rows if "seed" in name}
    assert shown == {f"{variant}, seed {seed}" for variant in ("none", "identity") for seed in (0, 1)}
    assert all("loss" in row.values for name in shown for row in tracker.rows[name])


def test_a_supernet_that_does_not_order_decides_nothing(tiny: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.parent / "trainings", tmp_path / "trainings")
    condition = 'condition = { metric = "tau@random", variant = "none", at_least = 1 }'
    tiny.write_text(tiny.read_text().replace('source = "ours"', f'source = "ours"\n{condition}'))
    claim = study(tiny, out=tmp_path / "out").claims[0]
    assert claim["verdict"] == "undecided"
    assert "tau@random of none is" in claim["reason"]
    assert claim["reason"] in (tmp_path / "out/report.html").read_text()
    tiny.write_text(tiny.read_text().replace('"tau@random", variant = "none"', '"tau@rnd", variant = "none"'))
    with pytest.raises(InputError, match="metric in the condition"):
        study(tiny, out=tmp_path / "out")


def test_done_trainings_are_not_repeated(tiny: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.parent / "trainings", tmp_path / "trainings")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("trainings/*/*.safetensors")}
    scores = {p: p.read_bytes() for p in tmp_path.glob("trainings/*/scores.jsonl")}
    text = tiny.read_text().replace("a stabiliser helps", "another claim").replace("Tiny <study>", "Another")
    tiny.write_text(text)
    events: list[Event] = []
    result = study(tiny, out=tmp_path / "again", on_event=events.append)
    assert result.done == 4
    assert result.claims[0]["text"] == "another claim"
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert {p: p.read_bytes() for p in scores} == scores
    assert (tmp_path / "again/measures.csv").read_text() == (finished / "measures.csv").read_text()
    assert events[-1] == Event("measure", done=4, total=4)
    assert "train" not in {e.task for e in events}


@pytest.mark.slow
def test_a_killed_study_goes_on(tiny: Path, finished: Path, tmp_path: Path) -> None:
    """Killed in the middle of a training by two workers; what comes out is the same to the byte."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "supernetic.cli", "study", str(tiny), "--out", str(out), "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(1200):
            if list(tmp_path.glob("trainings/*/metrics.jsonl")) or process.poll() is not None:
                break
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    assert not (out / "measures.csv").exists()
    result: Any = supernetic.resume(out)
    assert result.trainings == 4
    for name in FILES:
        assert (out / name).read_text() == (finished / name).read_text()


def test_a_dry_run_writes_nothing_and_estimates(tiny: Path, tmp_path: Path) -> None:
    result = study(tiny, out=tmp_path / "out", dry_run=True)
    assert (result.trainings, result.done, result.run) == (4, 0, None)
    assert result.seconds is not None
    assert result.seconds > 0
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.toml"]
    assert "4 trainings, 0 of them done before" in str(result)


def test_studies_get_directories_of_their_own(
    tiny: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished.parent / "trainings", tmp_path / "runs/studies/trainings")
    assert study(tiny).run == "runs/studies/tiny"
    assert study(tiny).run == "runs/studies/tiny"
    tiny.write_text(tiny.read_text().replace("Tiny", "Other"))
    assert study(tiny).run == "runs/studies/tiny-2"


def test_one_failure_does_not_end_the_others(tiny: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.parent / "trainings", tmp_path / "trainings")
    tiny.write_text(tiny.read_text().replace("none = {}", "none = {}\nwild = { recipe = { lr = 1e9 } }"))
    events: list[Event] = []
    result = study(tiny, out=tmp_path / "out", on_event=events.append)
    assert set(result.failed) == {"wild, seed 0", "wild, seed 1"}
    assert "diverged" in result.failed["wild, seed 0"]
    assert Event("train", text=f"wild, seed 1 failed: {result.failed['wild, seed 1']}") in events
    assert Event("train", item="wild, seed 0", done=100, total=100) in events
    assert Event("train", done=2, total=2) in events  # the other four were done before
    assert Event("measure", done=4, total=4) in events
    assert result.table["wild"] == {}
    assert result.table["none"]
    assert "diverged" in (tmp_path / "out/report.html").read_text()
    tiny.write_text(tiny.read_text().replace("lr = 0.1 }", "lr = 1e9 }").replace("Tiny", "Wild"))
    with pytest.raises(SupernetError, match="every training failed"):
        study(tiny, out=tmp_path / "wild")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"mean_acc"', '"mean_ac"', "variant 'none': unknown column 'mean_ac'"),
        ("valid = 20", "vald = 20", "did you mean 'valid'"),
        ("tau@random", "tau@rnd", "unknown metric in the claim"),
        ("resolution=8", "sides=8", "unknown setting of macro"),
        ("limit = 300", "limit = 0", "limit must be at least 1"),
        ("lr = 0.1", "lr = -1", "lr must be positive"),
        ("skip:identity", "skp:identity", "stabiliser"),
        ("none = {}", 'none = { without = ["none"] }', "unknown setting of macro 'without'"),
        ('kind = "ranking"', 'kind = "rank"', "unknown kind of measure"),
        ("macro:channels=4,resolution=8,head=16", "scarlet-s1", "no table of scarlet-s1"),
        ('source = "ours"', 'data = "nowhere"', "unknown data set"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    tiny: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = tiny.read_text()
    assert old in text
    tiny.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=said):
        study(tiny, out=tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.toml"]


def test_a_mask_that_leaves_nothing_is_refused(tiny: Path, tmp_path: Path) -> None:
    text = (
        tiny.read_text()
        .replace("macro:channels=4,resolution=8,head=16", "nasbench201:cells=1")
        .replace("mean_acc", "c10_test_200")
    )
    every = '["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]'
    tiny.write_text(text.replace("none = {}", f"none = {{ without = {every} }}"))
    with pytest.raises(InputError, match=r"variant 'none'.*at least one operation"):
        study(tiny, out=tmp_path / "out")
    one = '["none", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]'
    tiny.write_text(text.replace("none = {}", f"none = {{ without = {one} }}"))
    with pytest.raises(InputError, match="leaves 1"):
        study(tiny, out=tmp_path / "out")
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        study(tiny, workers=0)


def test_ready_files_can_be_run() -> None:
    """All of them, but for their data: spaces, recipes, samplers, columns, claims; and trainings are shared."""
    folder = Path(__file__).parents[2] / "studies"
    files = sorted([*folder.glob("*.toml"), *folder.glob("cpu/*.toml")])
    assert len(files) > 5
    for file in files:
        plan = read_study(file)
        if "table" not in plan.measure:
            check_study(plan, read_measure(plan.measure), Path("nowhere"))

    def keys(name: str) -> set[Path]:
        items: dict[tuple[str, int], Training] = trainings(read_study(folder / "cpu" / name), Path("t"))
        return {t.path for t in items.values()}

    assert len(keys("002-fig4.toml") & keys("002-fig5.toml")) == 6  # all, zero, zero and pool masked: two seeds
