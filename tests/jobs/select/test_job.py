from __future__ import annotations

import csv
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
import tomli_w

import supernetic
from supernetic.errors import InputError, RunError
from supernetic.jobs.select.job import select
from supernetic.jobs.select.result import read_result
from supernetic.runs.directory import read_settings

FILES = ("trainings.csv", "profiles.csv", "agreement.csv", "mdl.csv", "select.json", "report.html")


def test_a_choice_is_told(asked: dict[str, Any], finished: Path) -> None:
    told: list[str] = []
    before = {p: p.stat().st_mtime_ns for p in finished.glob("trainings/*/result.json")}
    result = supernetic.select(**asked, out=finished, on_event=lambda e: told.append(str(e)))
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert str(result).count("\n") > 20
    assert "Take " in str(result)
    assert "18 trainings" in told[1]
    assert len(before) == 18 + 3 * 2
    assert result.to_json()["on"] == "test"


@pytest.mark.slow
def test_a_killed_choice_goes_on_and_repeats_nothing(asked: dict[str, Any], finished: Path, tmp_path: Path) -> None:
    """Killed in the middle; what comes out is the same to the byte."""
    out = tmp_path / "run"
    options = ["--models", asked["models"], "--sizes", asked["sizes"], "--seeds", "1", "--limit", "600"]
    command = [sys.executable, "-m", "supernetic.cli", "select", *options, "--recipe", str(asked["recipe"])]
    with subprocess.Popen(
        [*command, "--out", str(out), "--workers", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(2400):
            if len(list(out.glob("trainings/*/result.json"))) >= 4 or process.poll() is not None:
                break
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    done = {p: p.stat().st_mtime_ns for p in out.glob("trainings/*/result.json")}
    assert 4 <= len(done) < 24
    assert not (out / "profiles.csv").exists()
    shutil.rmtree(next(iter(done)).parent)  # and one training is lost altogether
    done.pop(next(iter(done)))
    result = select(**asked, workers=1, out=out)
    assert {p: p.stat().st_mtime_ns for p in done} == done
    assert result.trainings == 18
    for name in FILES[:-2]:
        assert (out / name).read_text() == (finished / name).read_text(), name


@pytest.mark.slow
def test_what_was_planned_holds_on_resuming(finished: Path, tmp_path: Path) -> None:
    """As if seeds and the largest size had been given up for the time there was."""
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    settings = read_settings(out)
    assert settings["fitted"]["sizes"] == settings["asked"]["sizes"] == [40, 80, 160, 320]
    settings["fitted"] |= {"sizes": [40, 80, 160], "seeds": [1, 1, 1], "given_up": ["some seeds"]}
    (out / "run.toml").write_text(tomli_w.dumps(settings))
    for done in ("trainings.csv", "select.json", "result.json"):
        (out / done).unlink()
    again: Any = supernetic.resume(out)
    assert (again.sizes, again.seeds, again.notes[0]) == ((40, 80, 160), (1, 1, 1), "some seeds")


def test_a_plan_fits_and_writes_nothing(asked: dict[str, Any], tmp_path: Path) -> None:
    plan = select(**asked, minutes=1000, out=tmp_path / "run", dry_run=True)
    assert (plan.run, plan.sizes, plan.seeds) == (None, (40, 80, 160, 320), (2, 2, 1, 1))
    note = "the recipe's batch of 64 is cut to 36 on subsets of 40 images"
    assert plan.notes == (note, "runs on the CPU with 1 thread")
    assert "learning rate: for each model the best of 0.002, 0.006 and 0.02; batches of 36, 64, 64 and 64 im" in str(
        plan
    )
    assert 0 < plan.seconds < 60_000
    assert "this may take" in str(plan)
    assert not (tmp_path / "run").exists()


def test_a_recipe_keeps_its_learning_rate_and_batch(asked: dict[str, Any], tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('length = "1 epoch"\nbatch_size = 256\noptimiser = "adam"\nlr = 3e-4\n')
    few = {**asked, "models": "logistic,mlp:width=4,depth=1", "sizes": "20,40,320", "recipe": recipe}
    out = tmp_path / "run"
    plan = select(**few, dry_run=True)
    result = select(**few, workers=1, out=out)
    said = "learning rate 0.0003; batches of 18, 36 and 256 images"
    cut = "the recipe's batch of 256 is cut to 18 and 36 on subsets of 20 and 40 images"
    for told in (plan, result):
        assert said in told.lines()
        assert f"note: {cut}" in told.lines()
        assert told.rates == {"logistic": 3e-4, "mlp:width=4,depth=1": 3e-4}
        assert told.batches == (18, 36, 256)
    trained = list(csv.DictReader((out / "trainings.csv").read_text().splitlines()))
    assert {(t["images"], t["learning_rate"], t["batch_size"]) for t in trained} == {
        ("20", "0.0003", "18"), ("40", "0.0003", "36"), ("320", "0.0003", "256"),
    }  # fmt: skip
    assert len(list(out.glob("trainings/*/result.json"))) == len(trained)  # no others to choose a rate
    records = [json.loads(line) for f in out.glob("trainings/*/metrics.jsonl") for line in f.read_text().splitlines()]
    assert records[0]["lr"] == 3e-4
    page = (out / "report.html").read_text()
    assert "no others were tried" in page
    assert "batch on 320 images</td><td>256" in page
    assert supernetic.resume(out) == result


def test_rates_that_are_asked_for_are_tried(asked: dict[str, Any], tmp_path: Path) -> None:
    few = {**asked, "models": "logistic,mlp:width=4,depth=1", "sizes": "20,40", "rates": "1e-7,0.01"}
    result = select(**few, workers=1, out=tmp_path / "run")
    assert len(list(tmp_path.glob("run/trainings/*/result.json"))) == result.trainings + 2
    assert result.rates["logistic"] == 0.01  # nothing is learned with the other
    with pytest.raises(RunError, match="rates is"):
        select(**{**few, "rates": 0.01}, workers=1, out=tmp_path / "run")


def test_runs_that_do_not_record_batches_are_still_read(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    record = json.loads((finished / "select.json").read_text())
    for name in ("tried", "batches", "processes"):
        del record[name]
    (tmp_path / "run/select.json").write_text(json.dumps(record))
    assert "batches" not in str(read_result(tmp_path / "run"))
    assert supernetic.report(tmp_path / "run").page


def test_too_few_minutes_are_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="minutes are too few: 3 sizes up to 160 with one seed may take"):
        select(**asked, minutes=1e-4, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_took_too_long_says_so(asked: dict[str, Any], tmp_path: Path) -> None:
    """The clock goes on when a run is resumed, and stands still when all is done."""
    few = {**asked, "models": "logistic,mlp:width=4,depth=1", "sizes": "20,40", "minutes": 3}
    out = tmp_path / "run"
    result = select(**few, workers=1, out=out)
    assert not any(note.startswith("it took") for note in result.notes)
    assert 0 < result.seconds < 180
    records = [json.loads(line) for line in (out / "timings.jsonl").read_text().splitlines()]
    assert [r["task"] for r in records] == ["plan", "rates", "train", "decide"]
    assert result.seconds == pytest.approx(sum(r["seconds"] for r in records[:3]))
    with (out / "timings.jsonl").open("a") as file:
        file.write('{"task":"train","seconds":600}\n')
    assert select(**few, workers=1, out=out) == result
    for done in ("select.json", "result.json"):
        (out / done).unlink()
    again = select(**few, workers=1, out=out)
    assert again.seconds >= result.seconds + 600
    assert again.notes[1] == f"it took {again.seconds / 60:.1f} minutes, more than the 3 that it was fitted into"
    assert again.notes[1] in (out / "report.html").read_text()


def test_another_question_needs_another_directory(asked: dict[str, Any], finished: Path) -> None:
    with pytest.raises(RunError, match=r"asked\.seeds is \[2, 2, 1, 1\] there, \[4, 4, 2, 2\] here"):
        select(**{**asked, "seeds": 2}, out=finished)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": "nowhere"}, "unknown data set 'nowhere'"),
        ({"models": "logistic,nothing"}, "unknown model 'nothing'"),
        ({"sizes": "1,2"}, "20 images or more"),
        ({"on": "train"}, "unknown split to score on"),
        ({"size": "huge"}, "unknown size 'huge'"),
        ({"minutes": -1}, "minutes must be more than 0 and finite, got -1"),
        ({"workers": -1}, "workers must be at least 1, got -1"),
        ({"recipe": "none.toml"}, "none.toml: not readable"),
        ({"rates": "fast"}, "rates must be numbers such as 3e-4,1e-3, got 'fast'"),
        ({"rates": (0.1, -1)}, "rates must be positive and finite"),
        ({"processes": 0}, "processes must be at least 1, got 0"),
        ({"processes": 3}, "a batch must divide over 3 processes, with 2 images or more for each, got 64 images"),
        ({"processes": 16, "sizes": "20,40"}, "a subset of 20 images has 18 to train on, too few for 16 processes"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    asked: dict[str, Any], tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        select(**{**asked, **change}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_page_can_be_built_again(finished: Path) -> None:
    page = finished / "report.html"
    before = page.read_text()
    page.unlink()
    assert supernetic.report(finished).page == str(page)
    assert page.read_text() == before


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory whose network stands for a pretrained one, for colour images."""
    from supernetic.costs.macs import cost
    from supernetic.exporters.card import Card
    from supernetic.exporters.model import save_model
    from supernetic.families.efficientnet_lite import EfficientNetLite
    from supernetic.nn.network import build

    folder = tmp_path_factory.mktemp("pretrained") / "small"
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(4, 3, 96), seed=0).eval()
    costs = cost(network.blueprint)
    card = Card("small", "", tuple("abcd"), 96, 3, (0.4, 0.5, 0.6), (0.3, 0.3, 0.3), "", "", costs.macs, costs.params)
    save_model(folder, network, card, onnx=False)
    return folder


def test_pretrained_members_are_named_as_such(asked: dict[str, Any], pretrained: Path, tmp_path: Path) -> None:
    name = f"pretrained:{pretrained}"
    request = {**asked, "models": f"logistic,{name}", "sizes": "40,80", "limit": 200}
    result = select(**request, rates="1e-4", workers=1, out=tmp_path / "run")
    assert result.starts == {name: str(pretrained)}
    note = f"{name} begins with weights learned from other images; the other models begin with random weights"
    assert note in result.notes
    assert any("what to begin with, not which architecture is better" in s for s in result.sentences)
    record = json.loads((tmp_path / "run/select.json").read_text())
    assert read_result(tmp_path / "run").starts == result.starts == record["starts"]
    page = (tmp_path / "run/report.html").read_text()
    assert "weights to begin with" in page
    assert f"pretrained: {pretrained}" in page
    settings = [read_settings(p) for p in (tmp_path / "run/trainings").iterdir()]
    assert len({s["network"] for s in settings}) == 2


def test_pretrained_members_try_rates_of_their_own(asked: dict[str, Any], pretrained: Path, tmp_path: Path) -> None:
    request = {**asked, "models": f"logistic,pretrained:{pretrained}", "sizes": "40,80", "limit": 200}
    plan = select(**request, out=tmp_path / "run", dry_run=True)
    assert "for which learning rates of 0.0002, 0.0006 and 0.002 are tried" in str(plan)
    assert not (tmp_path / "run").exists()
