from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from supernetic import catalog
from supernetic.datasets import Dataset, load
from supernetic.datasets.batches import Batches
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.exporters.onnx import have_onnx
from supernetic.model_names import MODEL_NAMES, MODEL_SIZES, NB101_CELLS, parse_model, parse_models
from supernetic.nn.network import Network, build
from supernetic.testing import check_blueprint
from supernetic.timing.graph import graph
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe

DRAWN = [n for n in MODEL_NAMES if n != "s3ta"]
OWN = """
from torch import nn

def build(classes, in_channels, resolution, width=3):
    inputs = in_channels * resolution**2
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, classes))

def wide(classes, in_channels, resolution):
    return build(classes, in_channels, resolution, 9)
"""


@pytest.mark.parametrize(
    ("name", "params", "macs"),
    [
        ("nb101-1", 3_292_298, 485_889_024),
        ("nb101-2", 3_235_886, 483_006_912),
        ("nb101-3", 6_406_538, 951_456_768),
        ("nb101-4", 6_315_018, 930_485_248),
        ("nb101-5", 41_557_898, 6_110_450_688),
    ],
)
def test_the_five_cells_of_small_data_big_decisions(name: str, params: int, macs: int) -> None:
    assert parse_model(name, 10, 3, 32, size="full").costs() == (macs, params)
    small = parse_model(name, 10, 3, 32).blueprint
    assert small is not None
    assert small.layers[0].c_out == 16
    assert {layer.name.partition(".")[0] for layer in small if layer.stage} == {"cell0", "cell1", "cell2"}


@pytest.mark.parametrize("size", MODEL_SIZES)
@pytest.mark.parametrize("name", DRAWN)
def test_models_are_blueprints_that_cost_what_they_say(name: str, size: str) -> None:
    made = parse_model(name, 5, 2, 9, size)
    assert made.blueprint is not None
    check_blueprint(made.blueprint)
    network = made.build(seed=0).eval()
    with FlopCounterMode(display=False) as counter:
        logits = network(torch.randn(1, 2, 9, 9))
    assert made.costs() == (counter.get_total_flops() // 2, sum(p.numel() for p in network.parameters()))
    assert logits.shape == (1, 5)


@pytest.mark.skipif(not have_onnx(), reason="needs the extra export")
@pytest.mark.parametrize("name", DRAWN)
def test_models_can_be_timed(name: str) -> None:
    """Their ONNX graphs, written from the blueprint, compute what the networks do."""
    import onnxruntime  # type: ignore[import-untyped]

    made = parse_model(name, 5, 2, 9)
    network = made.build(seed=0)
    assert isinstance(network, Network)
    network(torch.randn(8, 2, 9, 9))  # so that BN has statistics of its own
    weights = {n: t.numpy() for n, t in network.eval().state_dict().items()}
    images = torch.randn(3, 2, 9, 9)
    session = onnxruntime.InferenceSession(graph(network.blueprint, weights), providers=["CPUExecutionProvider"])
    logits = session.run(None, {"images": images.numpy()})[0]
    assert np.abs(logits - network(images).detach().numpy()).max() < 1e-4


@pytest.fixture(scope="module")
def fashion() -> Dataset:
    return load("embedded")


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_learns(name: str, fashion: Dataset) -> None:
    made = parse_model(name, 10, 1, 10)
    batches = Batches(fashion, "train", 32, seed=0, resolution=made.resolution)
    recipe = Recipe(length="24 steps", batch_size=32, optimiser="adam", lr=3e-3, smoothing=0.999, schedule="constant")
    losses = [p.loss for p in fit(made.build(seed=0), batches, None, recipe)]
    assert fmean(losses[-6:]) < 0.9 * fmean(losses[:3])


# --- text -------------------------------------------------------------------------------------------------------------


def test_sweeps_are_all_combinations() -> None:
    made = parse_models("mlp:width=8+16,depth=1+2", 10, 1, 4)
    assert [m.name for m in made] == [
        "mlp:width=8,depth=1", "mlp:width=8,depth=2", "mlp:width=16,depth=1", "mlp:width=16,depth=2",
    ]  # fmt: skip
    first = 16 * 8 + 8 + 8 * 10 + 10
    assert [m.costs()[1] for m in made[:2]] == [first, first + 8 * 8 + 8]
    assert [m.name for m in parse_models("nb101-1:channels=8+12", 10, 1, 8)] == [
        "nb101-1:channels=8",
        "nb101-1:channels=12",
    ]
    pair = parse_models("nasbench201:channels=4+8/all-conv3x3", 10, 1, 8)
    assert [m.name for m in pair] == ["nasbench201:channels=4/all-conv3x3", "nasbench201:channels=8/all-conv3x3"]
    with pytest.raises(InputError, match="must name one model, got 2"):
        parse_model("mlp:width=8+16", 10, 1, 4)


def test_only_numbers_are_swept() -> None:
    masked = parse_models("nasbench201:without=none+avg_pool_3x3/2,2,2,2,2,2", 10, 1, 8)
    plain = parse_model("nasbench201/all-conv3x3", 10, 1, 8)
    assert [m.network for m in masked] == [plain.network]


def test_settings_go_before_sizes_and_text_before_arguments() -> None:
    assert parse_model("resnet:size=full", 10, 3, 32) == replace(
        parse_model("resnet", 10, 3, 32, "full"), name="resnet:size=full"
    )
    assert parse_model("resnet:size=cpu", 10, 3, 32, "full").network == parse_model("resnet", 10, 3, 32).network
    assert parse_model("resnet:depth=20,width=1", 10, 3, 32).costs()[1] == 269_722
    assert parse_model("s3ta:steps=1", 10, 1, 8).costs()[0] < parse_model("s3ta", 10, 1, 8).costs()[0]


def test_networks_of_the_papers_by_name() -> None:
    assert parse_model("ATTENTIVE-A0", 1000, 3, 224, "full").costs()[0] == 203_389_568
    full, small = parse_model("attentive-a0", 10, 1, 28, "full"), parse_model("attentive-a0", 10, 1, 28)
    assert (full.resolution, small.resolution) == (192, 28)
    assert small.costs()[0] < full.costs()[0] / 100
    assert parse_model("scarlet-a:resolution=64", 10, 3, 32).resolution == 64
    space = catalog.space("nasbench101:resolution=28,in_channels=1")
    assert parse_model("nasbench101/inception", 10, 1, 28, "full").network == space.blueprint(space.parse("inception"))


def test_any_cell_in_its_papers_notation() -> None:
    space = catalog.space("nasbench101:channels=16,cells=1,resolution=8")
    text = "0100001 0010000 0001101 0000001 0000010 0000001 0; mp mp c3 mp c3"
    assert parse_model(f"nasbench101/{text}", 10, 3, 8).network == space.blueprint(space.named["small-data-2"])
    assert NB101_CELLS["nb101-2"] == ("nasbench101", "small-data-2")
    edges = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"
    assert (
        parse_model(f"nasbench201/{edges}", 10, 3, 8).network
        == parse_model("nasbench201/all-conv3x3", 10, 3, 8).network
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resnett", "unknown model 'resnett': did you mean 'resnet'"),
        ("nb101-6", "did you mean 'nb101-"),
        ("mlp:wdth=3", "unknown setting of mlp 'wdth': did you mean 'width'"),
        ("nb101-1:chanels=3", "unknown setting of nb101-1 'chanels': did you mean 'channels'"),
        ("mlp:width", "settings of mlp are key=value"),
        ("mlp:width=-3", "mlp: width must be positive, got -3"),
        ("mlp:width=a+b", "mlp: width must be a whole number, got 'a'"),
        ("mlp:size=huge", "unknown size 'huge'"),
        ("resnet:depth=21", "layers, got 21"),
        ("nospace/1,2", "unknown space 'nospace'"),
        ("nasbench201:classes=5/all-conv3x3", "classes must be 10, as in the data, got 5"),
        ("missing.py", "missing.py cannot be read"),
        ("", "unknown model ''"),
    ],
)
def test_bad_texts_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        parse_models(text, 10, 1, 8)
    assert "\n" not in str(error.value)


def test_bad_architectures_are_refused() -> None:
    with pytest.raises(ArchError, match="6 integers"):
        parse_model("nasbench201/1,2", 10, 1, 8)
    with pytest.raises(UnknownNameError, match="size"):
        parse_model("mlp", 10, 1, 8, "tiny")


# --- files ------------------------------------------------------------------------------------------------------------


def test_functions_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    narrow, wide = (parse_model(f"{file}{end}", 4, 1, 6) for end in ("", ":wide"))
    assert narrow.blueprint is None
    assert narrow.resolution == 6
    assert (narrow.costs()[1], wide.costs()[1]) == (36 * 3 + 3 + 3 * 4 + 4, 36 * 9 + 9 + 9 * 4 + 4)
    assert wide.build(seed=1)(torch.zeros(2, 1, 6, 6)).shape == (2, 4)
    assert narrow.fingerprint != wide.fingerprint
    with pytest.raises(InputError, match=r"has a function deep\(classes, in_channels, resolution\)"):
        parse_model(f"{file}:deep", 4, 1, 6)


def test_a_finished_model_with_fresh_weights(tmp_path: Path) -> None:
    trained = parse_model("mlp:width=4,depth=1", 3, 1, 6)
    assert trained.blueprint is not None
    network = build(trained.blueprint, seed=5)
    macs, params = trained.costs()
    card = Card("m", "", ("a", "b", "c"), 6, 1, (0.5,), (0.2,), "", "", macs, params, {}, (0,))
    save_model(tmp_path / "m", network, card, onnx=False)
    again = parse_model(str(tmp_path / "m"), 3, 1, 28)
    assert again.network == trained.network
    assert again.resolution == 6
    assert not torch.equal(next(again.build(seed=0).parameters()), next(network.parameters()))
    more = parse_model(str(tmp_path / "m"), 8, 1, 28)
    assert more.costs()[1] == params + 5 * 5
    with pytest.raises(InputError, match="in_channels must be 3, as in the data, got 1"):
        parse_model(str(tmp_path / "m"), 3, 3, 6)
    with pytest.raises(InputError, match=r"is not a model: the directory of an exported model has a model\.json"):
        parse_model(str(tmp_path), 3, 1, 6)
