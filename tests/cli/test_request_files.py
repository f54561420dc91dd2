"""A search in one file: saved from options, run in their place, with the very same record."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supernetic import cli

from .conftest import SEARCH, snapshot

QUICK = [*SEARCH, "--augment", "none", "--evidence", "none"]
Refused = Callable[[list[str], str], str]


def call(*arguments: str) -> None:
    cli.main([*arguments, "--quiet"])


def test_a_saved_search_is_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plain, again = tmp_path / "mine.toml", tmp_path / "plain", tmp_path / "again"
    call(*QUICK, "--dry-run", "--save", str(file))
    assert capsys.readouterr().out.endswith(f"dry run: only {file} was written\n")
    assert snapshot(tmp_path).keys() == {file}
    call(*QUICK, "--out", str(plain))
    call("search", str(file), "--out", str(again))
    for name in ("run.toml", "trials.jsonl", "search.json", "models/model-1/model.safetensors"):
        assert (plain / name).read_bytes() == (again / name).read_bytes(), name
    done = snapshot(plain)
    call("search", str(file), "--out", str(plain))  # the same request: the run is finished, and only read
    call("resume", str(again))
    assert {k: v for k, v in snapshot(plain).items() if k.name != "report.html"} == {
        k: v for k, v in done.items() if k.name != "report.html"
    }


def test_options_come_before_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    call(*QUICK, "--seed", "4", "--dry-run", "--save", str(first))
    changed = [
        "--keep",
        "2",
        "--where",
        "macs<=50K",
        "--where",
        "params<=1M",
        "--objective",
        "max naswot",
        "--seed",
        "0",
    ]
    call("search", str(first), *changed, "--dry-run", "--save", str(second))
    capsys.readouterr()
    before, after = (tomllib.loads(f.read_text()) for f in (first, second))
    assert before["seed"] == 4
    expected = {"keep": 2, "where": ["macs<=50K", "params<=1M"], "objectives": ["max naswot"], "seed": 0}
    assert after == {**before, **expected}, "a value that is the default counts too if the command says it"


def test_a_table_and_a_family_in_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, family = tmp_path / "table.toml", tmp_path / "family.toml"
    call(
        "search",
        "--table",
        "nasbench201",
        "--where",
        "macs<=20M",
        "--evaluations",
        "20",
        "--dry-run",
        "--save",
        str(table),
    )
    call("search", str(table), "--evaluations", "10", "--out", str(tmp_path / "run"))
    assert "10 evaluations by NSGA2" in capsys.readouterr().out
    family.write_text(
        'job = "scale"\nspace = "macro:channels=4,resolution=8,head=16"\nstages = 1\nextrapolate = 0\n'
        'curve = "linear"\n'
        "steps = 3\nnetwork_steps = 2\nbases = 1\nrounds = 1\npopulation = 2\ngenerations = 2\nlimit = 300\n"
    )
    cli.main(["scale", str(family), "--dry-run", "--json"])
    assert json.loads(capsys.readouterr().out)["planned"]["plan"]["supernet_steps"] == 3


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("minuts = 3", [], "mine.toml: unknown key 'minuts': did you mean 'minutes'?"),
        ("keep = 'two'", [], "mine.toml: keep must be a whole number, got 'two'"),
        ("keep = 0", [], "keep must be at least 1, got 0"),
        ("table = 'macro'", ["--minutes", "3"], "--minutes belongs to a search on images, not on a table, got 3.0"),
        ("table = 'macro'", ["--dry-run"], "its dry run can only --save FILE"),
        ("", ["--save", "new.toml"], "give --dry-run too"),
        ("", ["--dry-run", "--save", "mine.toml"], "mine.toml exists: choose another name"),
        ("space = 'no.py'", ["--dry-run"], "no.py cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line(
    text: str, options: list[str], message: str, refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    refused(["search", "mine.toml", *options], message)


def test_code_in_the_users_own_file_is_the_users(tmp_path: Path, refused: Refused, parsed: Callable[..., Any]) -> None:
    (tmp_path / "space.py").write_text(
        "import supernetic\nspace = supernetic.Macro(channels=4, resolution=8, head=16, in_channels=1)\n"
    )
    words = 'space = "space.py"\naugment = "none"\nevidence = "none"\n'
    words += "steps = 2\nnetwork_steps = 2\npopulation = 2\ngenerations = 1\nlimit = 200\n"
    (tmp_path / "mine.toml").write_text(words)
    assert parsed("search", "mine.toml", "--dry-run")["space"] == "macro"
    run = tmp_path / "received"
    run.mkdir()
    for name in ("mine.toml", "space.py"):
        (run / name).write_bytes((tmp_path / name).read_bytes())
    (run / "run.toml").touch()
    refused(["search", "received/mine.toml", "--dry-run"], "allow it with --trust-code")
