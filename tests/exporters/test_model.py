"""A model directory is whole, says what it holds, and notices when somebody changed it."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic.costs.macs import cost
from supernetic.errors import InputError, RunError
from supernetic.exporters import model as exporter
from supernetic.exporters.card import Card
from supernetic.exporters.int8 import Int8
from supernetic.exporters.model import (
    FILES,
    INT8,
    is_model,
    load_model,
    read_card,
    read_int8,
    read_record,
    save_model,
    verify,
)
from supernetic.nn.network import Network, build
from supernetic.nn.norm import recalibrate
from supernetic.space import Space

QUANTISED = Int8(b"int8 1234", {"valid/accuracy": 49.0, "valid/difference": -1.0, "latency/ms": 0.5})


@pytest.fixture(scope="module")
def network(small: Callable[[str], Space]) -> Network:
    space = small("macro")
    network = build(space.blueprint(tuple(space.sample(np.random.default_rng(0), 1)[0].tolist())), seed=0)
    recalibrate(network, [torch.randn(8, 3, 15, 15)])
    return network


@pytest.fixture
def card(network: Network) -> Card:
    costs = cost(network.blueprint)
    return Card(
        name="model-1",
        task="Ten things.",
        classes=tuple(f"thing {i}" for i in range(10)),
        resolution=15,
        channels=3,
        mean=(0.5, 0.4, 0.3),
        std=(0.2, 0.2, 0.2),
        arch="0,1,2",
        space="macro",
        macs=costs.macs,
        params=costs.params,
        metrics={"test/accuracy": 50.0},
        seeds=(0,),
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Writes something in place of ONNX, which takes seconds; the real one is tested elsewhere."""
    written: list[Path] = []

    def write(network: torch.nn.Module, path: Path, *, channels: int, resolution: int) -> float:
        path.write_bytes(b"onnx")
        written.append(path)
        return 1e-7

    monkeypatch.setattr(exporter, "write_onnx", write)
    monkeypatch.setattr(exporter, "require_onnx", lambda: None)
    return written


def content(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir()}


def test_what_is_saved_is_what_is_loaded(network: Network, card: Card, tmp_path: Path) -> None:
    record = save_model(tmp_path / "models" / "model-1", network, card, int8=QUANTISED, program=True)
    directory = tmp_path / "models" / "model-1"
    assert {p.name for p in directory.iterdir()} == FILES
    assert sorted(p.name for p in directory.parent.iterdir()) == ["model-1"]
    assert json.loads((directory / "model.json").read_text()) == record == read_record(directory)
    assert record["onnx"]["deviation"] == 1e-7
    assert set(record["sha256"]) == FILES
    assert set(record["blueprint"][0]) == set(network.blueprint.layers[0]._fields)
    assert read_card(directory) == card
    assert is_model(directory)
    assert (directory / "labels.txt").read_text().splitlines() == list(card.classes)
    loaded = load_model(str(directory))
    assert not loaded.training
    assert loaded.blueprint == network.blueprint
    images = torch.randn(2, 3, 15, 15)
    assert torch.allclose(loaded(images), network.eval()(images), atol=1e-6)


def test_classes_with_odd_names_keep_their_lines(network: Network, card: Card, tmp_path: Path) -> None:
    odd = replace(card, classes=("a\nb", "\udcff", "<b>", *card.classes[3:]))
    save_model(tmp_path / "m", network, odd)
    assert len((tmp_path / "m" / "labels.txt").read_text().splitlines()) == 10
    assert read_card(tmp_path / "m").classes == odd.classes


def test_loading_needs_no_supernet(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    code = (
        "import sys; from supernetic.exporters.model import load_model\n"
        f"load_model({str(tmp_path / 'm')!r})\n"
        "print([m for m in sys.modules if m.startswith('supernetic.') and m.split('.')[1] in "
        "('supernets', 'samplers', 'spaces', 'searchers', 'training')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_saving_again_changes_nothing(network: Network, card: Card, tmp_path: Path, quick: list[Path]) -> None:
    first = save_model(tmp_path / "a", network, card)
    before = content(tmp_path / "a")
    assert save_model(tmp_path / "a", network, card) == first
    assert len(quick) == 1, "ONNX is written once"
    save_model(tmp_path / "b", network, card)
    assert content(tmp_path / "a") == before == content(tmp_path / "b"), "equal bytes wherever it is written"


def test_a_file_for_torch_export_can_be_added_and_is_kept(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    assert "model.pt2" not in content(tmp_path / "m")
    save_model(tmp_path / "m", network, card, program=True)
    before = content(tmp_path / "m")
    assert save_model(tmp_path / "m", network, card)["sha256"]["model.pt2"]
    assert content(tmp_path / "m") == before
    assert b"PK" in before["model.pt2"][:4]  # the real one


def test_a_directory_of_an_earlier_version_gets_what_timm_reads(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    config = json.loads((tmp_path / "m/config.json").read_text())
    assert config["architecture"] == "supernetic_network"
    assert config["pretrained_cfg"]["input_size"] == [3, 15, 15]
    record = json.loads((tmp_path / "m/model.json").read_text())
    (tmp_path / "m/config.json").unlink()
    del record["sha256"]["config.json"]
    record["sha256"]["model.json"] = exporter._own_digest(record)
    (tmp_path / "m/model.json").write_text(json.dumps(record))
    load_model(tmp_path / "m")
    save_model(tmp_path / "m", network, card)
    assert json.loads((tmp_path / "m/config.json").read_text()) == config


def test_other_numbers_or_weights_replace_it_whole(
    network: Network, card: Card, tmp_path: Path, quick: list[Path]
) -> None:
    save_model(tmp_path / "a", network, card, onnx=False)
    assert not (tmp_path / "a" / "model.onnx").exists()
    assert "onnxruntime" not in (tmp_path / "a" / "README.md").read_text()
    assert save_model(tmp_path / "a", network, card)["onnx"] is not None, "ONNX can be added"
    assert save_model(tmp_path / "a", network, card, onnx=False)["onnx"] is not None, "and is kept"
    save_model(tmp_path / "a", network, replace(card, metrics={"test/accuracy": 60.0}))
    assert read_card(tmp_path / "a").metrics == {"test/accuracy": 60.0}
    other = build(network.blueprint, seed=1)
    save_model(tmp_path / "a", other, replace(card, metrics={"test/accuracy": 60.0}))
    weights = [n.state_dict()["stem.conv.op.weight"] for n in (load_model(tmp_path / "a"), other)]
    assert torch.equal(*weights)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_quantised_file_is_listed_kept_and_replaced(
    network: Network, card: Card, tmp_path: Path, quick: list[Path]
) -> None:
    place = tmp_path / "m"
    assert save_model(place, network, card)["int8"] is None
    assert read_int8(place) is None
    assert "int8" not in (place / "README.md").read_text()
    record = save_model(place, network, card, int8=QUANTISED)
    assert record["int8"] == {**QUANTISED.facts, "bytes": 9, "float_bytes": 4}
    assert (place / INT8).read_bytes() == QUANTISED.data
    assert read_int8(place) == QUANTISED
    assert "| accuracy | 50.00 % | 49.00 % | -1.00 points | validation images |" in (place / "README.md").read_text()
    before, written = content(place), len(quick)
    save_model(place, network, card)
    slower = replace(QUANTISED, facts={**QUANTISED.facts, "latency/ms": 0.6})
    save_model(place, network, card, int8=slower)
    assert content(place) == before, "it is kept, and a time that is measured again is no other model"
    assert len(quick) == written
    other = replace(QUANTISED, data=b"other")
    save_model(place, network, card, int8=other)
    assert read_int8(place) == other
    assert verify(place)["int8"]["bytes"] == 5


def test_received_words_about_a_quantised_file_are_checked(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card, int8=QUANTISED)
    forged(tmp_path / "m", int8={"valid/accuracy": "<script>"})
    with pytest.raises(RunError, match=r"model\.json: int8 must be a table of numbers"):
        read_int8(tmp_path / "m")
    record = read_record(tmp_path / "m")
    forged(tmp_path / "m", int8=None, sha256={**record["sha256"], "../model.int8.onnx": "0"})
    with pytest.raises(RunError, match="a model consists of"):
        read_int8(tmp_path / "m")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_changed_file_is_noticed(network: Network, card: Card, tmp_path: Path, name: str) -> None:
    save_model(tmp_path / "m", network, card, int8=QUANTISED, program=True)
    file = tmp_path / "m" / name
    data = bytearray(file.read_bytes())
    at = data.index(b"1234") if b"1234" in data else len(data) // 2
    data[at] ^= 1
    file.write_bytes(data)
    with pytest.raises(RunError, match=name) as caught:
        load_model(tmp_path / "m")
    assert "\n" not in str(caught.value)
    save_model(tmp_path / "m", network, card, int8=QUANTISED, program=True)
    load_model(tmp_path / "m")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_noticed(network: Network, card: Card, tmp_path: Path, name: str) -> None:
    save_model(tmp_path / "m", network, card, int8=QUANTISED, program=True)
    (tmp_path / "m" / name).unlink()
    with pytest.raises(RunError, match=name):
        load_model(tmp_path / "m")


def test_a_class_swapped_in_the_record_is_noticed(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    file = tmp_path / "m" / "model.json"
    file.write_text(file.read_text().replace("thing 3", "thing 7"))
    with pytest.raises(RunError, match="checksum"):
        read_card(tmp_path / "m")


def test_what_is_no_model_is_said_so(network: Network, card: Card, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such directory"):
        load_model(tmp_path / "absent")
    with pytest.raises(RunError, match=r"no model\.json"):
        load_model(tmp_path)
    save_model(tmp_path / "run" / "models" / "model-1", network, card)
    with pytest.raises(RunError, match="models/model-1"):
        load_model(tmp_path / "run")
    for text in ("", "[]", '{"format": 1}', '{"format": 1, "sha256": 3}'):
        (tmp_path / "model.json").write_text(text)
        with pytest.raises(RunError, match="does not describe a model"):
            load_model(tmp_path)
    record: dict[str, Any] = json.loads((tmp_path / "run/models/model-1/model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**record, "format": 2}))
    with pytest.raises(RunError, match="format 2"):
        load_model(tmp_path)


def test_a_card_of_another_network_is_refused(network: Network, card: Card, tmp_path: Path) -> None:
    for wrong in (
        replace(card, classes=(*card.classes, "one more")),
        replace(card, resolution=16),
        replace(card, channels=1),
    ):
        with pytest.raises(InputError, match="its card says"):
            save_model(tmp_path / "m", network, wrong)
    assert not list(tmp_path.iterdir())


def test_other_files_are_never_replaced(network: Network, card: Card, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match=r"thesis\.txt"):
        save_model(tmp_path, network, card)
    save_model(tmp_path / "m", network, card)
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"notes\.txt"):
        save_model(tmp_path / "m", network, replace(card, task="Another."))
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("at", range(5))
def test_a_full_disk_leaves_what_was_there(
    network: Network, card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    save_model(tmp_path / "m", network, card)
    before = content(tmp_path / "m")
    real, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == at + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"m cannot be written: No space left"):
        save_model(tmp_path / "m", network, replace(card, task="Another."))
    assert content(tmp_path / "m") == before
    calls = 0
    with pytest.raises(RunError, match="No space left"):
        save_model(tmp_path / "new", network, card)
    assert [p.name for p in tmp_path.iterdir()] == ["m"], "nothing half-written"


def test_a_place_that_cannot_be_written_is_named(network: Network, card: Card, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file/m cannot be written"):
        save_model(tmp_path / "file" / "m", network, card)


def test_what_a_killed_save_left_is_no_hindrance(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    shutil.copytree(tmp_path / "m", tmp_path / ".n.tmp")
    (tmp_path / ".n.tmp" / "model.json").unlink()
    assert not is_model(tmp_path / "n")
    save_model(tmp_path / "n", network, card)
    assert content(tmp_path / "n") == content(tmp_path / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "n"]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new(
    network: Network, card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, new = tmp_path / "m", replace(card, task="Another.")
    real_replace, real_rmtree = os.replace, shutil.rmtree
    for moment in range(20):
        shutil.rmtree(place, ignore_errors=True)
        save_model(place, network, card)
        left = moment

        def last(what: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                if left == 0:
                    raise KeyboardInterrupt
                left -= 1
                return what(*args, **kwargs)

            return call

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", last(real_replace))
            patched.setattr(os, "fsync", last(os.fsync))
            patched.setattr(shutil, "rmtree", last(real_rmtree))
            try:
                save_model(place, network, new)
            except KeyboardInterrupt:
                pass
            else:
                break
        if place.exists():
            load_model(place)
            assert read_card(place) in (card, new)
        else:
            with pytest.raises(RunError, match="interrupted") as caught:
                load_model(place)
            assert read_card(tmp_path / ".m.old") == card
            assert str(tmp_path / ".m.old") in str(caught.value)
        save_model(place, network, new)
        assert read_card(place) == new
        assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert 8 < moment < 19, "all moments were tried"


def forged(directory: Path, **changes: Any) -> None:
    """Change a record and its own checksum, as somebody who sends a model could."""
    record = {**read_record(directory), **changes}
    record["sha256"][exporter.RECORD] = exporter._own_digest(record)
    (directory / exporter.RECORD).write_text(json.dumps(record))


def test_a_received_blueprint_takes_no_more_memory_than_its_weights(
    network: Network, card: Card, tmp_path: Path
) -> None:
    """A classifier of a trillion weights is refused, not allocated."""
    save_model(tmp_path / "m", network, card)
    blueprint = read_record(tmp_path / "m")["blueprint"]
    last = {**blueprint[-1], "c_out": 10**12}
    forged(tmp_path / "m", blueprint=[*blueprint[:-1], last])
    with pytest.raises(RunError, match="holds no network that fits its description"):
        load_model(tmp_path / "m")


def test_a_received_card_names_no_absurd_resolution(network: Network, card: Card, tmp_path: Path) -> None:
    save_model(tmp_path / "m", network, card)
    record = read_record(tmp_path / "m")
    forged(tmp_path / "m", preprocessing={**record["preprocessing"], "resolution": 10**7})
    with pytest.raises(RunError, match="images must have 1 to 4096 pixels a side, got 10000000"):
        read_card(tmp_path / "m")
