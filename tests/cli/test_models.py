from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supernetic import cli

Refused = Callable[[list[str], str], str]


def model(run: Path) -> str:
    return str(run / "models" / "model-1")


def test_images_are_classified(searched: Path, parsed: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("predict", model(searched), "embedded", "--top", "2")
    first = found["predictions"][0]
    assert (len(first["classes"]), len(first["probabilities"])) == (2, 2)
    cli.main(["predict", model(searched), "embedded", "--engine", "onnx", "--top", "1"])
    assert capsys.readouterr().out.splitlines()[0].split("  ")[1].startswith(first["classes"][0])


@pytest.mark.parametrize("file", ["model.safetensors", "model.json", "labels.txt"])
def test_a_model_that_was_tampered_with_is_refused(file: str, searched: Path, tmp_path: Path, refused: Refused) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model(searched), copy)
    data = bytearray((copy / file).read_bytes())
    data[-5] ^= 1
    (copy / file).write_bytes(data)
    refused(["predict", str(copy), "embedded"], file)


@pytest.mark.parametrize("command", ["predict", "report", "export", "derive", "finish"])
def test_what_is_no_run_or_model_is_named(command: str, refused: Refused) -> None:
    more = {"predict": ["embedded"], "derive": ["0"], "finish": ["m", "--steps", "1"]}.get(command, [])
    assert refused([command, "nowhere", *more], "nowhere") == ""


def test_models_are_derived_exported_and_reported(searched: Path, parsed: Callable[..., Any], tmp_path: Path) -> None:
    asked = ["derive", str(searched), "1,1,1,1,1,1,1,1", "--retrain", "none", "--name", "mine", "--out", str(tmp_path)]
    derived = Path(parsed(*asked)["model"])
    assert derived == tmp_path / "mine"
    parsed("export", str(derived), "--out", str(tmp_path / "again"))
    weights = "mine/model.safetensors"
    assert (tmp_path / weights).read_bytes() == (tmp_path / "again" / weights).read_bytes()
    (searched / "report.html").unlink()
    parsed("report", str(searched))
    assert (searched / "report.html").exists()


def test_a_model_is_finished(searched: Path, parsed: Callable[..., Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(searched, run)
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file() and p.name != ".lock"}
    planned = parsed("finish", str(run), "model-1", "--steps", "30", "--dry-run")
    assert (planned["planned"]["steps"], planned["steps"]) == (30, 0)
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file() and p.name != ".lock"} == before
    found = parsed("finish", str(run), "model-1", "--steps", "30", "--quiet")
    assert {"model", "path", "replaced", "before", "tried", "network", "report"} <= found.keys()
    assert (found["steps"], found["replaced"]) == (30, True)
    assert parsed("resume", str(run))["networks"][0] == found["network"]
    assert parsed("resume", str(run / "finishes" / "1")) == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model-7", "--steps", "5"], "run has no network 'model-7': choose from model-1, "),
        (["model-1", "--steps", "5", "--minutes", "1"], "either minutes or steps, got minutes=1 and steps=5"),
        (["model-1"], "either minutes or steps, got neither"),
        (["model-1", "--minutes", "0"], "minutes must be more than 0 and finite, got 0"),
        (["model-1", "--steps", "-3"], "steps must be at least 1, got -3"),
        (["model-1", "--steps", "5", "--seed", "-1"], "a seed must not be negative, got -1"),
    ],
)
def test_what_cannot_be_finished_is_one_line(
    arguments: list[str], message: str, searched: Path, tmp_path: Path, refused: Refused
) -> None:
    shutil.copytree(searched, tmp_path / "run")
    assert refused(["finish", "run", *arguments], message) == ""


def test_a_training_is_shown_as_it_goes(searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "short.toml"
    recipe.write_text('length = "4 steps"\nbatch_size = 16\n')
    asked = [
        "derive",
        str(searched),
        "1,1,1,1,1,1,1,2",
        "--retrain",
        "scratch",
        "--recipe",
        str(recipe),
        "--name",
        "own",
    ]
    cli.main([*asked, "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert "trained from scratch" in out
    assert err.splitlines()[-1].startswith("train own: 4 of 4")
