"""The file that `--save` writes says the same request again, to the byte, and explains itself."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from supernetic.errors import InputError
from supernetic.jobs.request_text import Settled, argument_texts, request_text, require_savable, save_request
from supernetic.jobs.scale.job import scale
from supernetic.jobs.scale.request import ScaleRequest
from supernetic.jobs.search.job import search
from supernetic.jobs.search.request import SearchRequest
from supernetic.samplers.strict_fair import StrictFair
from supernetic.spaces.macro import Macro

REQUESTS: list[dict[str, Any]] = [
    {},
    {"minutes": 60.0, "where": ["macs<=20M", "params<=1M"], "keep": 2},
    {"space": 'mine "quoted" \\ name', "objectives": ["min cross_entropy"], "sampler": "attentive:k=5"},
    {"sampler": {"name": "sandwich", "n": 3, "between": {"name": "uniform"}}, "valid": 0.2, "seed": 7},
    {"recipe": {"length": "3 epochs", "lr": 0.1}, "retrain_recipe": {"length": "2 steps"}, "searcher": "mcea:rounds=2"},
    {"baselines": ["timm:resnet18"], "stabiliser": "skip", "retrain": "inherit", "supernet": "yes"},
]
SETTLED = {
    "space": Settled("macro:channels=8", "because\nof this"),
    "keep": Settled(5),
    "objectives": Settled(["max proxy/rank_ensemble"]),
    "sampler": Settled({"name": "strict_fair"}, "by the space"),
    "recipe": Settled({"length": "4 steps"}),
    "image_size": Settled(None, "28 pixels"),
}


@pytest.mark.parametrize("given", REQUESTS)
def test_it_says_the_request_again_to_the_byte(given: dict[str, Any], tmp_path: Path) -> None:
    request, file = SearchRequest(**given), tmp_path / "request.toml"
    save_request(file, "search", request, search, SETTLED)
    read = tomllib.loads(file.read_text())
    assert read.pop("job") == "search"
    assert tomli_w.dumps(SearchRequest(**read).record()) == tomli_w.dumps(request.record())
    assert [p.name for p in tmp_path.iterdir()] == ["request.toml"]


def test_what_was_settled_can_be_pinned() -> None:
    text = request_text("search", SearchRequest(), search, SETTLED)
    assert 'space = "auto"\n# Settled: "macro:channels=8"; because of this.\n' in text
    assert "# Not set (28 pixels).\n" in text
    lines = [line[1:] if line.startswith("#") and not line.startswith("# ") else line for line in text.split("\n")]
    pinned = tomllib.loads("\n".join(lines))
    assert pinned["keep"] == 5
    assert pinned["sampler"] == {"name": "strict_fair"}
    assert pinned["recipe"] == {"length": "4 steps"}
    assert "evaluator" not in text


def test_every_setting_is_explained() -> None:
    for function, request in ((search, SearchRequest()), (scale, ScaleRequest())):
        named = argument_texts(function)
        assert {f for f in vars(request) if f != "evaluator"} <= named.keys()
        assert all(named.values())
    assert argument_texts(search)["keep"].endswith("at most 5.")


@pytest.mark.parametrize("given", [{"space": Macro()}, {"sampler": StrictFair()}])
def test_objects_from_python_are_refused(given: dict[str, Any], tmp_path: Path) -> None:
    (name,) = given
    with pytest.raises(InputError, match=f"{name} was given as an object from Python, which a file cannot say"):
        save_request(tmp_path / "request.toml", "search", SearchRequest(**given), search, {})
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    with pytest.raises(InputError, match="give --dry-run too"):
        require_savable(file, dry_run=False)
    with pytest.raises(InputError, match="there is no directory"):
        require_savable(tmp_path / "no" / "request.toml", dry_run=True)
    file.touch()
    with pytest.raises(InputError, match=r"request\.toml exists: choose another name"):
        require_savable(file, dry_run=True)
