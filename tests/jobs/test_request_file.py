"""A request in a TOML file is checked: one line names the file, the key, the rule and the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.commands.read_request import read_request
from supernetic.errors import InputError, TrustError
from supernetic.jobs.scale.request import ScaleRequest
from supernetic.jobs.search.request import SearchRequest


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_whole_search(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "short.toml").touch()
    file = written(
        tmp_path,
        """
        data = "photos"
        space = "macro:channels=8"
        where = "macs<=20M"
        objectives = ["max rank_ensemble", "min macs"]
        minutes = 5
        keep = 2
        searcher = "local:improve=best"
        sampler = { name = "sandwich", n = 3, between = { name = "attentive", k = 5 } }
        recipe = "short.toml"
        baselines = ["nets/mine.py", "timm:resnet18"]
        seed = 3
        [retrain_recipe]
        length = "30 epochs"
        lr = 0.1
        """,
    )
    arguments = read_request(file)
    assert arguments["minutes"] == 5.0
    assert isinstance(arguments["minutes"], float), "as an option gives it, so that records are the same"
    assert arguments["where"] == ["macs<=20M"]
    assert arguments["data"] == str(tmp_path / "photos")
    assert arguments["recipe"] == str(tmp_path / "short.toml")
    assert arguments["baselines"] == [str(tmp_path / "nets/mine.py"), "timm:resnet18"]
    assert arguments["space"] == "macro:channels=8"
    request = SearchRequest(**arguments)
    assert SearchRequest.from_record(request.record()) == request


def test_a_name_is_not_a_file(tmp_path: Path) -> None:
    assert read_request(written(tmp_path, 'data = "cifar10"\nspace = "macro"\n')) == {
        "data": "cifar10",
        "space": "macro",
    }
    assert read_request(written(tmp_path, 'space = "mine.toml"\n')) == {"space": str(tmp_path / "mine.toml")}


def test_a_table_and_a_family(tmp_path: Path) -> None:
    table = read_request(written(tmp_path, 'table = "nasbench201"\nweights = [1, 2.5]\nwithout = ["none"]\n'))
    assert table == {"table": "nasbench201", "weights": [1.0, 2.5], "without": ["none"]}
    family = read_request(written(tmp_path, 'job = "scale"\nstages = 2\nbase_budget = "300M"\n'), "scale")
    assert ScaleRequest(**family).stages == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minuts = 5", "unknown key 'minuts': did you mean 'minutes'?"),
        ('objective = "max naswot"', "unknown key 'objective': did you mean 'objectives'?"),
        ('evaluator = "mine"', "unknown key 'evaluator'"),
        ('minutes = "5"', "minutes must be a number, got '5'"),
        ("keep = 1.5", "keep must be a whole number, got 1.5"),
        ("keep = true", "keep must be a whole number, got True"),
        ("where = 5", "where must be a list of texts, got 5"),
        ("where = ['macs<=1M', 3]", "where must be a list of texts"),
        ("sampler = 3", "sampler must be text or a table, got 3"),
        ("sampler = { name = 'sandwhich' }", "unknown sampler 'sandwhich': did you mean 'sandwich'?"),
        ("sampler = { name = 'sandwich', m = 3 }", "unknown setting of sandwich 'm'"),
        ("[recipe]\nlenght = '3 epochs'", "recipe: unknown setting of recipe 'lenght': did you mean 'length'?"),
        ("[retrain_recipe]\nlr = 'high'", "retrain_recipe: recipe: lr must be float, got 'high'"),
        ("out = 'runs/a'", "out is said with the command, not in a file: --out"),
        ("trust_code = true", "trust_code is said with the command, not in a file: --trust-code"),
        ("job = 'scale'", "the file is for the job 'scale', not for 'search'"),
        ("[stem]\nwidth = 16", "stem is a key of a declared space: give such a file with --space"),
        ("minutes = ", "not readable as TOML"),
        ("table = 'macro'\nminutes = 3", "unknown key 'minutes'"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError) as refusal:
        read_request(file)
    line = str(refusal.value)
    assert line.startswith(f"{file}: ")
    assert message in line
    assert "\n" not in line


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: not readable as TOML"):
        read_request(tmp_path / "no.toml")
    with pytest.raises(InputError, match="unknown job of a file 'serch': did you mean 'search'"):
        read_request(written(tmp_path, ""), "serch")


@pytest.mark.parametrize("marker", ["run.toml", "model.json"])
@pytest.mark.parametrize("text", ['space = "mine.py"', 'baselines = ["net.py"]'])
def test_a_file_inside_a_run_names_no_code(text: str, marker: str, tmp_path: Path) -> None:
    own: dict[str, Any] = read_request(written(tmp_path, text))
    assert own, "the user's own file may"
    received = tmp_path / "received"
    (received / "deep").mkdir(parents=True)
    (received / marker).touch()
    file = written(received / "deep", text)
    with pytest.raises(
        TrustError,
        match=r"lies in the directory of a run or model, .*, and names the Python file .* allow it with --trust-code",
    ):
        read_request(file)
    assert read_request(file, trust_code=True)
