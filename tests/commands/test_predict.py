"""Images in files get the classes that evaluating the data set gives them, by torch and by onnxruntime."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image

import supernetic
from supernetic import catalog
from supernetic.commands.predict import predict
from supernetic.costs.macs import cost
from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset
from supernetic.errors import DataError, InputError, RunError, SupernetError, UnknownNameError
from supernetic.evaluators.standalone import StandaloneEvaluator
from supernetic.exporters.card import Card
from supernetic.exporters.model import load_model, read_card, save_model
from supernetic.exporters.onnx import have_onnx
from supernetic.networks.training import logits_of
from supernetic.nn.network import build
from supernetic.nn.norm import recalibrate
from supernetic.training.recipe import Recipe

COUNT = 40

needs_onnx = pytest.mark.skipif(not have_onnx(), reason="the packages of the extra `export` are not installed")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load(limit=1000)


@pytest.fixture(scope="module")
def model(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of NAS-Bench-Macro that has learnt a little, with its ONNX file where that can be made."""
    space = catalog.space("macro:channels=4,resolution=28,in_channels=1,head=64")
    recipe = Recipe(length="20 steps", batch_size=64, lr=0.1, weight_decay=1e-4)
    network = StandaloneEvaluator(space, data, recipe).train(space.parse("1,1,0,2,0,1,0,1")).eval()
    recalibrate(network, [Batches(data).fixed(256)])
    costs = cost(network.blueprint)
    card = Card("model-1", "Clothes.", data.classes, 28, 1, data.mean, data.std, "?", "macro", costs.macs, costs.params)
    path = tmp_path_factory.mktemp("models") / "model-1"
    record = save_model(path, network, card, onnx=have_onnx())
    assert not have_onnx() or record["onnx"]["deviation"] < 1e-4
    return path


@pytest.fixture(scope="module")
def truth(data: Dataset, model: Path) -> npt.NDArray[np.float64]:
    """Probabilities of the first test images by evaluating the data set."""
    logits = logits_of(load_model(model), 28, data, "test")[:COUNT].astype(np.float64)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: npt.NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    assert len(set(found.argmax(axis=1).tolist())) > 2, "a network that tells classes apart, or nothing is tested"
    return found


@pytest.fixture(scope="module")
def folder(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same images as files, each class in its folder."""
    path = tmp_path_factory.mktemp("images")
    for i, row in enumerate(data.splits["test"][:COUNT]):
        Image.fromarray(data.images[row, :, :, 0]).save(path / f"{i:03}.png")
    return path


@pytest.mark.parametrize("engine", ["torch", pytest.param("onnx", marks=needs_onnx)])
def test_files_are_classified_as_the_data_set_is(
    model: Path, folder: Path, data: Dataset, truth: npt.NDArray[np.float64], engine: str
) -> None:
    found = predict(model, [folder], top=10, batch=7, engine=engine)
    assert [Path(p.image).name for p in found.predictions] == [f"{i:03}.png" for i in range(COUNT)]
    for prediction, shares in zip(found.predictions, truth, strict=True):
        assert prediction.classes[0] == data.classes[shares.argmax()]
        by_name = dict(zip(prediction.classes, prediction.probabilities, strict=True))
        assert [by_name[c] for c in data.classes] == pytest.approx(shares.tolist(), abs=1e-4)
        assert list(prediction.probabilities) == sorted(prediction.probabilities, reverse=True)


def test_an_image_is_the_same_however_it_is_given(model: Path, folder: Path, data: Dataset, tmp_path: Path) -> None:
    rows = data.splits["test"][:COUNT]
    np.savez(tmp_path / "some.npz", images=data.images[rows], labels=np.arange(COUNT) % 10)
    expected = predict(model, [folder]).predictions
    for given in ([tmp_path / "some.npz"], [folder / f"{i:03}.png" for i in range(COUNT)]):
        for p, same in zip(predict(model, given).predictions, expected, strict=True):
            assert p.classes == same.classes
            assert p.probabilities == pytest.approx(same.probabilities, abs=1e-6)
    first = Image.open(folder / "000.png").convert("RGBA")
    first.resize((56, 56), Image.Resampling.NEAREST).save(tmp_path / "large.png")
    assert predict(model, [tmp_path / "large.png"]).predictions[0].classes[0] == expected[0].classes[0]
    named = predict(model, [tmp_path / "some.npz"]).predictions[3].image
    assert named == f"{tmp_path / 'some.npz'}[3]"


def test_a_named_data_set_is_read_whole(model: Path, data: Dataset, truth: npt.NDArray[np.float64]) -> None:
    found = predict(model, ["embedded"], top=1, batch=500).predictions
    assert len(found) == 10_000
    for i, shares in zip(data.rows[data.splits["test"][:COUNT]], truth, strict=True):
        assert found[i].classes == (data.classes[shares.argmax()],)


def test_images_of_another_size_in_training_are_resized_the_same_way(
    model: Path, folder: Path, data: Dataset, tmp_path: Path
) -> None:
    space = catalog.space("macro:channels=4,resolution=20,in_channels=1,head=64")
    network = build(space.blueprint(space.parse("1,1,0,2,0,1,0,1")), seed=0).eval()
    card = replace(read_card(model), resolution=20, data_resolution=28)
    save_model(tmp_path / "m", network, card, onnx=False)
    logits = logits_of(network, 20, data, "test")[:COUNT]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = predict(tmp_path / "m", [folder], top=1).predictions
    assert [p.probabilities[0] for p in found] == pytest.approx(shares.max(axis=1).tolist(), abs=1e-5)
    with pytest.raises(InputError, match=r"no model\.onnx: add it with: supernetic export"):
        predict(tmp_path / "m", [folder], engine="onnx")


def test_it_is_told_in_lines_and_records(model: Path, folder: Path) -> None:
    result = predict(model, [folder / "000.png"], top=2)
    (line,) = result.lines()
    best = result.predictions[0]
    assert line.startswith(f"{folder / '000.png'}  {best.classes[0]} {best.probabilities[0]:.1%}, {best.classes[1]} ")
    record = result.to_json()
    assert record["model"] == "model-1"
    assert record["predictions"][0]["classes"] == list(best.classes)
    assert len(predict(model, [folder / "000.png"], top=99).predictions[0].classes) == 10


def test_bad_input_is_named(model: Path, folder: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.png"
    torn.write_bytes((folder / "000.png").read_bytes()[:100])
    (tmp_path / "empty").mkdir()
    (tmp_path / "words.txt").write_text("no image")
    for image, words in (
        (torn, r"torn\.png"),
        (tmp_path / "absent.png", "does not exist"),
        (tmp_path / "empty", "empty holds no image"),
        (tmp_path / "words.txt", r"words\.txt is not an image"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            predict(model, [folder, image])
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="needs an image"):
        predict(model, [])
    with pytest.raises(InputError, match="top must be 1 or more, got 0"):
        predict(model, [folder], top=0)
    with pytest.raises(UnknownNameError, match="engine 'torhc'"):
        predict(model, [folder], engine="torhc")
    with pytest.raises(RunError, match="is not a model"):
        predict(folder, [folder])


def test_a_network_that_says_nothing_is_no_answer(model: Path, folder: Path, tmp_path: Path) -> None:
    network = load_model(model)
    with torch.no_grad():
        next(network.parameters()).fill_(torch.nan)
    save_model(tmp_path / "m", network, read_card(model), onnx=False)
    with pytest.raises(SupernetError, match="not finite"):
        predict(tmp_path / "m", [folder])


@needs_onnx
def test_the_page_on_models_runs_as_printed(
    model: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(model, tmp_path / "runs/demo/models/model-1")
    shutil.copy(folder / "005.png", tmp_path / "photo.png")
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "runs/demo/" in b]  # tests/test_docs.py runs
    assert len(blocks) == 2  # the others
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(supernetic, "load", load_model, raising=False)
    for block in blocks:
        exec(compile(block, "models.md", "exec"), {})
    assert capsys.readouterr().out.strip() == predict(model, [folder / "005.png"]).predictions[0].classes[0]
