from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import supernetic
from supernetic.costs.macs import cost
from supernetic.errors import InputError
from supernetic.exporters import fine_tuned
from supernetic.exporters.card import Card
from supernetic.exporters.fine_tuned import save
from supernetic.exporters.model import load_model, read_card, save_model
from supernetic.nn.network import build
from supernetic.spaces.macro import Macro

NAMES = ("a", "b", "c")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose network has more logits than there are classes."""
    monkeypatch.setattr(fine_tuned, "have_onnx", lambda: False)  # which takes seconds, and is tested elsewhere
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
