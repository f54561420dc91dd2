from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from supernetic.errors import RunError, UnknownNameError
from supernetic.jobs.search.result import SearchResult, read_result
from supernetic.ranking.sentences import trust_sentences


def test_a_finished_search_says_what_it_found(finished: SearchResult) -> None:
    text = str(finished)
    assert "model-1" in text
    sentences = trust_sentences(finished.trust)
    assert all(sentence in text for sentence in sentences)
    assert "tau" in sentences[0]
    assert "statements" not in finished.trust
    assert "In the benchmark's table" in text
    assert finished.report.exists()
    chosen = json.loads((Path(finished.run) / "search.json").read_text())["chosen"]
    assert list(finished.models) == [f"model-{i}" for i, _ in enumerate(chosen, 1)]
    assert json.loads(json.dumps(finished.to_json()))["networks"]
    assert read_result(finished.run) == finished


def test_models_are_loaded_by_name(finished: SearchResult) -> None:
    network = finished.models["model-2"].load()
    assert network(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
    with pytest.raises(UnknownNameError, match=r"did you mean .model-"):
        finished.models["model-9"]


def test_notebooks_get_a_table(finished: SearchResult) -> None:
    assert finished._repr_html_().startswith("<table>")


def test_an_unfinished_run_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('job = "search"\n')
    with pytest.raises(RunError, match="supernetic resume"):
        read_result(tmp_path)
