from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from supernetic.errors import RunError, UnknownNameError
from supernetic.jobs.search.result import FoundModel, FoundModels, SearchResult, read_result
from supernetic.ranking.sentences import trust_sentences
from supernetic.reports.why import why
from supernetic.runs.records import NetworkRecord, read_networks


def test_a_finished_search_says_what_it_found(finished: SearchResult) -> None:
    text = str(finished)
    assert "model-1" in text
    sentences = trust_sentences(finished.trust)
    assert all(sentence in text for sentence in sentences)
    assert "tau" in sentences[0]
    assert "statements" not in finished.trust
    assert "In the benchmark's table" not in text, "the table is of other images"
    assert finished.report.exists()
    handed_over = [r.name for r in finished.networks if r.chosen]
    assert list(finished.models) == handed_over == [f"model-{i}" for i, _ in enumerate(handed_over, 1)]
    assert json.loads(json.dumps(finished.to_json()))["networks"]
    assert read_result(finished.run) == finished


def test_the_recommendation_comes_first(finished: SearchResult) -> None:
    lines = finished.lines()
    assert finished.recommended == finished.models["model-1"]
    assert lines[0].startswith("Take model-1: ")
    assert lines[1].startswith("Why: it had the best validation accuracy of ")
    assert f"supernetic predict {finished.recommended.path} IMAGE" in lines
    heading = next(i for i, line in enumerate(lines) if line.split()[:2] == ["network", "MACs"])
    assert " ".join(lines[heading].split()) == "network MACs params score steps valid % test % architecture"
    assert lines[heading + 1].split()[:2] == ["*", "model-1"]
    assert finished._repr_html_().startswith("<p>Take model-1: ")


NETWORKS = (
    NetworkRecord("model-1", "chosen", macs=2_000_000, params=9_000, key="b", first_key="a", steps=1_234,
                  trained={"valid/accuracy": 90.0}, test={"test/accuracy": 89.5}, label="plain", recommended=True),
    NetworkRecord("resnet", "resnet", "model-1", macs=1_900_000, key="c", steps=99, label="ResNet",
                  trained={"valid/accuracy": 70.0}, test={"test/accuracy": 69.5}),
)  # fmt: skip


def test_without_a_score_there_is_no_column_for_it() -> None:
    trust = {"rounds": 2, "steps_per_epoch": 10.0, "test_images": 1000}
    result = SearchResult("runs/x", "mixed", "toys", (), NETWORKS, trust, FoundModels())
    table = [" ".join(line.split()) for line in result.lines()]
    assert "network MACs params steps valid % test % architecture" in table
    assert "* model-1 2M 9K 1,234 90.00 89.50 plain" in table
    assert "resnet 1.9M - 99 70.00 69.50 ResNet" in table
    assert result.recommended is None, "it was not exported"
    assert not any(line.startswith("supernetic predict") for line in result.lines())
    assert result.to_json()["networks"][0]["recommended"] is True


def test_a_run_that_recommends_nothing_is_told_as_before() -> None:
    model = FoundModel("model-1", "runs/x/models/model-1")
    old = tuple(replace(n, recommended=None) for n in NETWORKS)
    result = SearchResult("runs/x", "mixed", "toys", (), old, {}, FoundModels({"model-1": model}))
    assert result.recommended is None
    assert result.lines()[0] == "mixed on toys: 0 networks on the front, 1 model"
    assert "supernetic predict runs/x/models/model-1 IMAGE" in result.lines()


def test_models_are_loaded_by_name(finished: SearchResult) -> None:
    network = finished.models["model-1"].load()
    assert network(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
    with pytest.raises(UnknownNameError, match=r"did you mean .model-"):
        finished.models["model-9"]


def test_notebooks_get_a_table(finished: SearchResult) -> None:
    assert "<table><tr><th>network</th>" in finished._repr_html_()


def test_an_unfinished_run_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('job = "search"\n')
    with pytest.raises(RunError, match="supernetic resume"):
        read_result(tmp_path)


def test_why_names_the_source_of_every_number(run: Path) -> None:
    lost = next(r.name for r in read_networks(run) if r.role == "candidate")
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in why(run, lost)]
    by_supernet = [line for line in lines if "by the supernet, after 12 steps" in line]
    assert len(by_supernet) == 1
    assert by_supernet[0].startswith("  validation cross-entropy ")
    assert "Jacobian" not in by_supernet[0]
    assert any(line.startswith("  Jacobian covariance") and line.endswith("by zero-cost proxies") for line in lines)
    assert any("layers" in line and line.endswith(": counted") for line in lines)
    assert any(line.startswith("  validation accuracy") and "after 8 steps (" in line for line in lines)
