"""The networks that a search chose become models; what is missing is said."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.commands.export import export, export_run
from supernetic.datasets import load
from supernetic.derivation.derive import derive
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.exporters import model as model_directory
from supernetic.exporters import onnx
from supernetic.exporters.model import load_model, read_card
from supernetic.jobs.compare.export import export_network
from supernetic.jobs.compare.train import inherited_file
from supernetic.jobs.search.table_search import search_table
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.networks.pool import key_of
from supernetic.nn.network import build
from supernetic.runs.directory import open_run, read_settings
from supernetic.runs.records import NetworkRecord
from supernetic.training.checkpoint import write

SPACE = "macro:channels=4,resolution=8,head=16,in_channels=1"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Writes something in place of ONNX, which takes seconds; the real one is tested elsewhere."""
    written: list[Path] = []

    def write_onnx(network: torch.nn.Module, path: Path, *, channels: int, resolution: int) -> float:
        path.write_bytes(b"onnx")
        written.append(path)
        return 1e-7

    monkeypatch.setattr(model_directory, "write_onnx", write_onnx)
    monkeypatch.setattr(onnx, "have_onnx", lambda: True)
    monkeypatch.setattr(model_directory, "require_onnx", lambda: None)
    return written


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as a finished search leaves it: two chosen networks, one of them without weights, and controls."""
    path = tmp_path_factory.mktemp("runs") / "demo"
    space, data = catalog.space(SPACE), load(limit=200, resolution=8)
    settings = {
        "job": "search",
        "space": {"name": "macro", "text": SPACE},
        "data": data.summary(),
        "retrain_recipe": {"title": "small", "length": "20 steps"},
    }
    open_run(path, settings).close()
    records: list[dict[str, Any]] = []
    archs = space.sample(np.random.default_rng(0), 3)
    for i, (name, role) in enumerate([("model-1", "chosen"), ("model-2", "chosen"), ("random-1", "random")]):
        arch = tuple(archs[i].tolist())
        made = space.blueprint(arch)
        about = {"job": "network", "seed": 7 + i, "start": "scratch", "blueprint": made.to_json()}
        inner = path / "networks" / key_of(about)
        open_run(inner, about).close()
        if name != "model-2":
            write(inner / "weights.safetensors", dict(build(made, seed=i).state_dict()), {})
        records.append(
            {
                "name": name,
                "role": role,
                "key": inner.name,
                "label": space.format(arch),
                "arch": list(arch),
                "macs": 1,
                "params": 1,
                "score": None,
                "trained": {"valid/accuracy": 40.0 + i, "valid/cross_entropy": 1.5},
                "test": {"test/accuracy": 39.0 + i},
            }
        )
    records[1]["failed"] = "the loss is not finite"
    foreign = {"job": "network", "baseline": {"file": "mine.py"}}
    open_run(path / "networks" / key_of(foreign), foreign).close()
    records.append({**records[2], "name": "baseline", "role": "baseline", "key": key_of(foreign)})
    (path / "networks.json").write_text(json.dumps(records))
    return path


@pytest.fixture
def run(searched: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(searched, tmp_path / "demo"))


def test_chosen_networks_become_models(run: Path) -> None:
    result = export(run)
    assert [(m.name, m.path) for m in result.models] == [("model-1", str(run / "models" / "model-1"))]
    left_out, without_images = result.notes
    assert left_out == "model-2 was left out: the loss is not finite"
    assert without_images == f"model-1 has no int8 file: {run} does not say which images it was made from"
    assert "note: model-2" in str(result)
    assert result.to_json()["models"][0]["deviation"] == 1e-7
    card, data = read_card(run / "models" / "model-1"), read_settings(run)["data"]
    assert card.metrics == {"valid/accuracy": 40.0, "valid/cross_entropy": 1.5, "test/accuracy": 39.0}
    assert (card.seeds, card.recipe, card.space, card.licence) == ((7,), "small, 20 steps", SPACE, "MIT")
    assert card.classes == tuple(data["classes"])
    assert card.mean == tuple(data["mean"])
    assert card.notes == ()
    network = load_model(run / "models" / "model-1")
    fresh = build(network.blueprint, seed=0).state_dict()
    assert all(torch.equal(t, fresh[n]) for n, t in network.state_dict().items())
    assert card.macs == result.models[0].macs > 1, "costs are counted, not copied"


def test_exporting_again_costs_nothing(run: Path, quick: list[Path]) -> None:
    export(run)
    times = {p: p.stat().st_mtime_ns for p in (run / "models" / "model-1").iterdir()}
    export(run)
    assert len(quick) == 1
    assert {p: p.stat().st_mtime_ns for p in (run / "models" / "model-1").iterdir()} == times


def test_any_network_by_name_and_elsewhere(run: Path, tmp_path: Path) -> None:
    result = export(run, out=tmp_path / "out", name="random-1")
    assert [m.path for m in result.models] == [str(tmp_path / "out" / "random-1")]
    assert not (run / "models").exists()
    with pytest.raises(UnknownNameError, match="did you mean 'random-1'"):
        export(run, name="rando")
    with pytest.raises(RunError, match="model-2 cannot be exported: the loss is not finite"):
        export(run, name="model-2")
    with pytest.raises(InputError, match="baseline is not a network of ours"):
        export(run, name="baseline")


def test_weights_of_the_supernet_are_exported_and_said_to_be_its(trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    supernet, dataset = load_supernet(run)
    arch = tuple(supernet.space.sample(np.random.default_rng(1), 1)[0].tolist())
    record = {
        "name": "model-1",
        "role": "chosen",
        "key": None,
        "weights": "inherited",
        "label": "?",
        "arch": list(arch),
        "score": {"valid/accuracy": 12.5},
        "trained": None,
        "test": {"test/accuracy": 12.0},
    }
    checked = {**record, "name": "model-2", "trained": {"valid/accuracy": 30.0}, "inherited": {"test/accuracy": 11.0}}
    (run / "networks.json").write_text(json.dumps([record, checked]))
    network = derive(supernet, arch, dataset)[0]
    (run / "inherited").mkdir()
    for name in ("model-1", "model-2"):
        notes = {"blueprint": json.dumps(network.blueprint.to_json())}
        write(inherited_file(run, name), dict(network.state_dict()), notes)
    first, second = export(run).models
    assert read_card(first.path).metrics == {"valid/accuracy": 12.5, "test/accuracy": 12.0}
    assert read_card(second.path).metrics == {"valid/accuracy": 12.5, "test/accuracy": 11.0}
    assert read_card(first.path).seeds == (0,)
    assert "of the supernet" in (Path(first.path) / "README.md").read_text()
    expected = network.state_dict()
    assert all(torch.equal(t, expected[n]) for n, t in load_model(first.path).state_dict().items())
    assert export_network(run, NetworkRecord.from_json(checked)) == Path(second.path)


def test_without_onnx_models_lack_that_file_and_get_it_later(
    run: Path, monkeypatch: pytest.MonkeyPatch, quick: list[Path]
) -> None:
    monkeypatch.setattr(onnx, "have_onnx", lambda: False)
    result = export(run)
    assert "supernetic[export]" in result.notes[0]
    assert "no ONNX file" in str(result)
    model = run / "models" / "model-1"
    assert not (model / "model.onnx").exists()
    again = export(model)
    assert (again.models[0].path, again.models[0].deviation) == (str(model), 1e-7)
    assert (model / "model.onnx").exists()
    load_model(model)


def test_a_model_can_be_copied_under_another_name(run: Path, tmp_path: Path) -> None:
    export(run)
    model = run / "models" / "model-1"
    result = export(model, out=tmp_path / "best", name="clothes")
    assert result.models[0].path == str(tmp_path / "best" / "clothes")
    assert read_card(tmp_path / "best" / "clothes").name == "clothes"
    assert export(model, name="other").models[0].path == str(model.parent / "other")
    assert (model / "model.safetensors").read_bytes() == (
        tmp_path / "best" / "clothes" / "model.safetensors"
    ).read_bytes()
    (model / "labels.txt").write_text("cats\n")
    with pytest.raises(RunError, match=r"labels\.txt was changed"):
        export(model)


def test_a_file_for_torch_export_is_written_on_request_and_kept(run: Path, tmp_path: Path) -> None:
    export(run, name="model-1", int8="no", pt2=True)
    model = run / "models/model-1"
    program = torch.export.load(model / "model.pt2").module()
    x = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(program(x), load_model(model)(x), atol=1e-5)
    export(model, name="copy", out=tmp_path)
    assert (tmp_path / "copy/model.pt2").exists()


def test_what_cannot_be_exported_is_named(run: Path, tmp_path: Path) -> None:
    for name in ("../x", "a/b", "", ".hidden"):
        with pytest.raises(InputError, match="a model's name"):
            export(run, name=name)
    with pytest.raises(RunError, match="neither a run"):
        export(tmp_path)
    with open_run(run, {k: v for k, v in read_settings(run).items() if k != "versions"}):
        with pytest.raises(RunError, match="in use"):
            export(run)
        export_run(run)  # for those who hold it
    key = json.loads((run / "networks.json").read_text())[0]["key"]
    (run / "networks" / key / "weights.safetensors").write_bytes(b"torn")
    with pytest.raises(RunError, match="damaged"):
        export(run, name="model-1")
    (run / "networks.json").write_text("[{}]")
    with pytest.raises(RunError, match=r"networks\.json: a network: name must be"):
        export(run)
    (run / "networks.json").write_text("[]")
    with pytest.raises(RunError, match="chosen no network yet"):
        export(run)
    (run / "networks.json").unlink()
    with pytest.raises(RunError, match="no finished search"):
        export(run)


def test_trials_go_to_optuna(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    search_table("nasbench201", evaluations=20, out=tmp_path / "cells")
    result = export(tmp_path / "cells", optuna=tmp_path / "optuna.db")
    assert result.models == ()
    assert result.notes[0].endswith("optuna.db: 20 trials were added to the study 'cells'")
    study = optuna.load_study(study_name="cells", storage=f"sqlite:///{tmp_path / 'optuna.db'}")
    assert set(study.trials[0].params) == {c.name for c in catalog.space("nasbench201").choices}
    assert "0 trials" in export(tmp_path / "cells", optuna=tmp_path / "optuna.db").notes[0]
    export(tmp_path / "cells", optuna=tmp_path / "optuna.db", name="again")
    assert len(optuna.get_all_study_names(f"sqlite:///{tmp_path / 'optuna.db'}")) == 2
