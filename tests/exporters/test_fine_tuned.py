from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
import torch
from PIL import Image

import supernetic
from supernetic.costs.macs import cost
from supernetic.datasets import Data
from supernetic.errors import InputError
from supernetic.exporters import fine_tuned
from supernetic.exporters.card import Card
from supernetic.exporters.fine_tuned import save
from supernetic.exporters.model import load_model, read_card, save_model
from supernetic.exporters.onnx import have_onnx
from supernetic.nn.network import build
from supernetic.spaces.macro import Macro

NAMES = ("a", "b", "c")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose network has more logits than there are classes."""
    monkeypatch.setattr(fine_tuned, "have_onnx", lambda: False)  # which takes seconds, and has a test of its own
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "cache"))
    network = build(Macro(channels=4, resolution=12, head=8).blueprint((1,) * 8), seed=0).eval()
    costs = cost(network.blueprint)
    card = Card(
        "found", "", NAMES, 12, 3, (0.5,) * 3, (0.2,) * 3, "1", "macro", costs.macs, costs.params, licence="MIT"
    )
    card = replace(card, metrics={"test/accuracy": 50.0}, seeds=(0,), recipe="short")
    save_model(tmp_path / "found", network, card, onnx=False)
    return tmp_path / "found"


def test_a_network_with_other_classes(model: Path, tmp_path: Path) -> None:
    network = load_model(model)
    network.reset_classifier(2, seed=0)
    path = save(network, tmp_path / "mine", like=model, classes=["no", "yes"])
    loaded, card = load_model(path), read_card(path)
    assert all(torch.equal(loaded.state_dict()[n], t) for n, t in network.state_dict().items())
    assert (card.name, card.classes, card.licence) == ("mine", ("no", "yes"), "MIT")
    assert card.params == sum(p.numel() for p in loaded.parameters())
    assert (card.metrics, card.seeds, card.recipe) == ({}, (), "")
    assert card.notes == ("Trained further from found; how, and on which images, is not recorded.",)
    Image.fromarray(np.zeros((12, 12, 3), dtype=np.uint8)).save(tmp_path / "black.png")
    (prediction,) = supernetic.predict(path, [tmp_path / "black.png"]).predictions
    assert set(prediction.classes) == {"no", "yes"}


def test_the_same_classes_need_no_names(model: Path, tmp_path: Path) -> None:
    path = save(load_model(model), tmp_path / "mine", like=model)
    assert read_card(path).classes == NAMES


def test_names_must_fit(model: Path, tmp_path: Path) -> None:
    network = load_model(model)
    with pytest.raises(InputError, match="the network has 10 logits, got names of 2 classes: pass classes="):
        save(network, tmp_path / "mine", like=model, classes=["no", "yes"])
    network.reset_classifier(3)
    with pytest.raises(InputError, match="the network has 3 logits"):  # by chance as many as there were names
        save(network, tmp_path / "mine", like=model)
    assert not (tmp_path / "mine").exists()


# --- test images ------------------------------------------------------------------------------------------------------


def taught(model: Path) -> tuple[supernetic.Network, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A network that was taught to tell black from white, and images of both; it is left in training mode."""
    rng = np.random.default_rng(0)
    labels = np.arange(64) % 2
    images = (labels[:, None, None, None] * 200 + rng.integers(0, 50, (64, 12, 12, 3))).astype(np.uint8)
    network, prepare = load_model(model), supernetic.transform(model)
    network.train().reset_classifier(2, seed=0)
    x, y = torch.stack([*map(prepare, images)]), torch.from_numpy(labels)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(30):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(x), y).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network, images, labels


def test_the_card_says_what_was_measured_on_test_images(model: Path, tmp_path: Path) -> None:
    network, images, labels = taught(model)
    wrong = np.where(np.arange(64) < 16, 1 - labels, labels)  # a quarter
    path = save(network, tmp_path / "mine", like=model, classes=["black", "white"], test=(images, wrong))
    card = read_card(path)
    assert network.training
    assert card.metrics["test/accuracy"] == 75
    assert card.metrics["test/cross_entropy"] > 0.5
    assert card.notes[1] == "The accuracy was measured on 64 images of arrays; its 95 % interval is 63.2 to 84.0 %."
    assert "| accuracy | 75 % | test images |" in (path / "README.md").read_text()
    found = load_model(path)(torch.stack([*map(supernetic.transform(path), images)])).argmax(1).numpy()
    assert 100 * (found == wrong).mean() == 75


def test_classes_go_by_their_names(model: Path, tmp_path: Path) -> None:
    """Folders are in the order of the alphabet, logits need not be."""
    network, images, labels = taught(model)
    for i, (image, label) in enumerate(zip(images, labels, strict=True)):
        folder = tmp_path / "photos" / ("night", "day")[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{i}.png")
    path = save(network, tmp_path / "mine", like=model, classes=["night", "day"], test=tmp_path / "photos")
    assert read_card(path).metrics["test/accuracy"] == 100


def test_only_the_test_split_counts_where_there_is_one(model: Path, tmp_path: Path) -> None:
    network, images, labels = taught(model)
    data = Data.from_arrays(train=(images, 1 - labels), test=(images[:40], labels[:40]))
    path = save(network, tmp_path / "mine", like=model, classes=["black", "white"], test=data)
    assert read_card(path).metrics["test/accuracy"] == 100
    assert "on 40 images" in read_card(path).notes[1]


def test_images_of_other_classes_are_refused(model: Path, tmp_path: Path) -> None:
    network, images, labels = taught(model)
    data = Data.from_arrays(images, labels, ["cat", "white"])
    with pytest.raises(InputError, match="has images of the class 'cat', the model has black, white"):
        save(network, tmp_path / "mine", like=model, classes=["black", "white"], test=data)
    assert not (tmp_path / "mine").exists()


def test_the_onnx_file_is_of_the_trained_network(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_tuned, "have_onnx", have_onnx)
    network, images, labels = taught(model)
    path = save(network, tmp_path / "mine", like=model, classes=["black", "white"], test=(images, labels))
    session = onnxruntime.InferenceSession(path / "model.onnx")
    (logits,) = session.run(["logits"], {"images": read_card(path).prepare(images).numpy()})
    assert (np.asarray(logits).argmax(1) == labels).all()
    assert read_card(path).metrics["test/accuracy"] == 100
