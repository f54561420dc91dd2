from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.runs import files
from supernetic.runs.records import NetworkRecord, SearchRecord, read_networks, read_search, read_trust

ENTRY: dict[str, Any] = {
    "name": "model-1", "role": "chosen", "against": "", "label": "1+2", "arch": [0, 1, 2], "macs": 1200, "params": 30,
    "key": "0a1b", "score": {"valid/cross_entropy": 0.5, "valid/accuracy": None}, "trained": {"valid/accuracy": 90.0},
    "fold": {"exact": True}, "weights": "inherited", "test": {"test/accuracy": 88.0},
    "latency": {"latency/ms": 1.5, "low": 1.4, "high": 1.6, "engine": "onnx"},
}  # fmt: skip
CONTROL: dict[str, Any] = {
    "name": "mobilenetv2", "role": "mobilenet", "against": "model-1", "label": "MobileNetV2", "arch": None,
    "macs": 1100, "params": 20, "key": None, "score": None, "trained": None, "failed": "the loss became NaN",
}  # fmt: skip


def write(path: Path, name: str, content: Any) -> Path:
    (path / name).write_text(json.dumps(content))
    return path


def test_networks_are_read_and_written_without_loss(tmp_path: Path) -> None:
    networks = read_networks(write(tmp_path, "networks.json", [ENTRY, CONTROL]))
    assert [n.to_json() for n in networks] == [ENTRY, CONTROL]
    assert [list(n.to_json()) for n in networks] == [list(ENTRY), list(CONTROL)]  # a file keeps its bytes
    first, second = networks
    assert (first.arch, first.chosen, first.exports_inherited) == ((0, 1, 2), True, True)
    assert (second.arch, second.chosen, second.exports_inherited) == (None, False, False)
    assert NetworkRecord.from_json(first.to_json()) == first


FINISH: dict[str, Any] = {
    "number": 2, "steps": 40, "before": {"valid/accuracy": 50.0, "test/accuracy": None}, "before_steps": 8,
    "difference": [1.5, -0.5, 3.5], "recipe": "mine",
}  # fmt: skip


def test_finishes_are_read_and_written_without_loss(tmp_path: Path) -> None:
    entry = {**CONTROL, "finishes": [FINISH, {k: FINISH[k] for k in ("number", "steps", "before")}]}
    (network,) = read_networks(write(tmp_path, "networks.json", [entry]))
    assert network.to_json() == entry
    assert network.finishes[0].difference == (1.5, -0.5, 3.5)
    for changes, words in (({"steps": -1}, "steps must be"), ({"difference": [1]}, "difference must be three numbers")):
        write(tmp_path, "networks.json", [{**CONTROL, "finishes": [{**FINISH, **changes}]}])
        with pytest.raises(RunError, match=f"a finish: {words}"):
            read_networks(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "../up"}, "name must be a name of at most 200 letters and digits, with"),
        ({"name": ""}, "name must be a name of"),
        ({"name": None}, "name must be a name of at most 200 letters"),
        ({"name": "a/b"}, "got 'a/b'"),
        ({"name": "a\nb"}, r"got 'a\nb'"),
        ({"key": "..", }, "key must be a name of"),
        ({"against": "/etc"}, "against must be a name of"),
        ({"role": 3}, "role must be text, got 3"),
        ({"arch": [0, "1"]}, "arch must be a list of whole numbers, got [0, '1']"),
        ({"arch": [True]}, "arch must be a list of whole numbers"),
        ({"macs": "many"}, "macs must be a whole number, at least 0, got 'many'"),
        ({"macs": -1}, "macs must be a whole number, at least 0, got -1"),
        ({"macs": 1.5}, "macs must be a whole number"),
        ({"params": float("inf")}, "params must be a whole number, at least 0, got inf"),
        ({"score": {"valid/accuracy": "high"}}, "score must be a table of numbers"),
        ({"test": [1]}, "test must be a table of numbers, got [1]"),
        ({"weights": "mine"}, "weights must be trained or inherited, got 'mine'"),
        ({"fold": "flat"}, "fold must be a table"),
        ({"label": "x", "failed": 1}, "failed must be text, got 1"),
        ({"finishes": 3}, "finishes must be a list of tables, got 3"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_in_one_line(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    write(tmp_path, "networks.json", [{**ENTRY, **changes}])
    with pytest.raises(RunError, match=re.escape(words)) as error:
        read_networks(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'networks.json'}: a network: ")
    assert "\n" not in str(error.value)


def test_what_is_no_list_of_networks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no finished search: it has no networks\.json"):
        read_networks(tmp_path)
    with pytest.raises(RunError, match=r"networks\.json must be a list of networks, got \{\}"):
        read_networks(write(tmp_path, "networks.json", {}))
    with pytest.raises(RunError, match="a network must be a table of fields, got 3"):
        read_networks(write(tmp_path, "networks.json", [3]))
    with pytest.raises(RunError, match="names of networks must differ, got 'model-1' twice"):
        read_networks(write(tmp_path, "networks.json", [ENTRY, ENTRY]))
    (tmp_path / "networks.json").write_text("[")
    with pytest.raises(RunError, match=r"networks\.json is damaged"):
        read_networks(tmp_path)


def test_a_long_wrong_value_is_cut(tmp_path: Path) -> None:
    write(tmp_path, "networks.json", [{**ENTRY, "arch": "x" * 5000}])
    with pytest.raises(RunError) as error:
        read_networks(tmp_path)
    assert len(str(error.value)) < 300 + len(str(tmp_path))


SEARCH: dict[str, Any] = {
    "space": "macro",
    "searcher": {"name": "NSGA2"},
    "objectives": ["min cost/macs"],
    "where": ["cost/macs<=1M"],
    "evaluations": 12,
    "trials": {"ok": 11, "infeasible": 1, "failed": 0},
    "front": [{"arch": [0], "name": "zero", "metrics": {"cost/macs": 5}}, {"arch": [1], "metrics": {"x/y": None}}],
    "chosen": [{"arch": [0], "name": "zero", "metrics": {"cost/macs": 5}}],
    "hypervolume": 0.25,
    "reference": {"cost/macs": 9.0},
    "first": 4,
    "generations": [{"number": 1, "evaluations": 12}],
}


def test_a_search_is_read(tmp_path: Path) -> None:
    found = read_search(write(tmp_path, "search.json", {**SEARCH, "later": "unknown"}))
    assert (found.space, found.evaluations, found.first, found.hypervolume) == ("macro", 12, 4, 0.25)
    assert found.searcher["name"] == "NSGA2"
    assert [r.arch for r in found.front] == [(0,), (1,)]
    assert found.chosen[0].to_json() == SEARCH["chosen"][0]
    assert SearchRecord().front == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"front": None}, "front must be a list of tables, got None"),
        ({"chosen": [{"arch": "0"}]}, "an architecture: arch must be a list of whole numbers, got '0'"),
        ({"objectives": "min cost/macs"}, "objectives must be a list of texts"),
        ({"evaluations": 1.5}, "evaluations must be a whole number"),
    ],
)
def test_a_wrong_search_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    write(tmp_path, "search.json", {**SEARCH, **changes})
    with pytest.raises(RunError, match=re.escape(words)):
        read_search(tmp_path)


def test_trust_is_read(tmp_path: Path) -> None:
    trust: dict[str, Any] = {"tau": {"score": "valid/accuracy", "n": 3}, "comparisons": [], "table": None}
    assert read_trust(write(tmp_path, "trust.json", trust)) == trust
    contest = {"model": "a", "control": "b"}
    wrong: list[Any] = [
        *({"tau": 3}, {"comparisons": [{"model": "a"}]}, {"comparisons": {}}, []),
        *({"steps_per_epoch": 0}, {"rounds": "three"}, {"test_images": -1}),
        *({"comparisons": [{**contest, "steps": [1]}]}, {"comparisons": [{**contest, "epochs": ["a", "b"]}]}),
    ]
    for content in wrong:
        write(tmp_path, "trust.json", content)
        with pytest.raises(RunError, match=r"trust\.json"):
            read_trust(tmp_path)


@pytest.mark.parametrize("read", [read_search, read_trust])
def test_an_unfinished_run_says_how_to_go_on(tmp_path: Path, read: Any) -> None:
    with pytest.raises(RunError, match=r"is not finished: it has no \w+\.json; `supernetic resume .*` goes on"):
        read(tmp_path)


def test_every_file_of_a_run_has_one_name() -> None:
    names = [v for k, v in vars(files).items() if k.isupper()]
    assert len(names) == len(set(names)) > 30
