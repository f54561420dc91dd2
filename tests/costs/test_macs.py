import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.macs import add_up, chain_peak, cost, layer_table, peak

# (space, architecture, M MACs, tolerance, M parameters, tolerance): figures that were published or recomputed.
PUBLISHED = [
    ("nasbench201", "all-conv3x3", 220.119680, 0, 1.531546, 0),
    ("nasbench201", "all-none", 7.783040, 0, 0.073306, 0),
    ("scarlet-s1", "all-skip", 23.0, 0.5, 1.306, 0.001),
    ("scarlet-s1", "all-e6k7", 557, 0.5, 5.090, 0.001),
    ("scarlet-s2", "all-e6k7-se", 561.34, 0.01, 9.038, 0.001),
    ("scarlet-s2", "scarlet-a", 365, 0.5, 6.7, 0.05),
    ("scarlet-s2", "scarlet-b", 329, 2.5, 6.5, 0.05),  # the released configuration costs 326.85 M
    ("scarlet-s2", "scarlet-c", 280, 0.5, 6.0, 0.1),
    ("scarlet-s2:classes=10", "scarlet-a", 364, 0.5, 5.44, 0.01),
    ("scarlet-s2:classes=10", "scarlet-b", 328, 2.5, 5.26, 0.01),
    ("scarlet-s2:classes=10", "scarlet-c", 279, 0.5, 4.81, 0.01),
    ("scarlet-s1", "table1-a", 367.83, 0.01, 3.825, 0.001),
    ("scarlet-s1", "table1-b", 318.47, 0.01, 3.715, 0.001),
    ("scarlet-s2", "model-m", 209.33, 0.01, 3.445, 0.001),
    ("attentive", "attentive-a0", 203, 0.5, 8.954, 0.001),
    ("attentive", "attentive-a1", 279, 0.5, 9.453, 0.001),
    ("attentive", "attentive-a2", 317, 0.5, 11.150, 0.001),
    ("attentive", "attentive-a3", 357, 0.5, 12.785, 0.001),
    ("attentive", "attentive-a4", 444, 0.5, 11.810, 0.001),
    ("attentive", "attentive-a5", 491, 0.5, 12.597, 0.001),
    ("attentive", "attentive-a6", 709, 0.5, 15.155, 0.001),
    ("efficientnet", "efficientnet-b0", 390, 390 * 0.015, 5.289, 0.001),
]


@pytest.mark.parametrize(("space", "arch", "macs", "near", "params", "close"), PUBLISHED)
def test_published_costs(space: str, arch: str, macs: float, near: float, params: float, close: float) -> None:
    found = catalog.space(space)
    total = cost(found.blueprint(found.parse(arch)))
    assert total.macs / 1e6 == pytest.approx(macs, abs=near or 1e-9)
    assert total.params / 1e6 == pytest.approx(params, abs=close or 1e-9)


def test_the_layer_table_adds_up() -> None:
    space = catalog.space("attentive")
    blueprint = space.blueprint(space.parse("attentive-a3"))
    rows, total = layer_table(blueprint), cost(blueprint)
    assert (sum(r["macs"] for r in rows), sum(r["params"] for r in rows)) == (total.macs, total.params)
    assert rows[0]["in"] == [3, 224, 224]
    assert rows[1]["label"] == "MB1_K3"


def simple(*layers: Layer) -> Blueprint:
    return Blueprint(layers)


def test_peak_of_a_chain_is_an_input_and_an_output() -> None:
    chain = simple(
        Layer("a", "conv", 3, 8, 4, 4), Layer("b", "conv", 8, 2, 4, 2, 3, 2), Layer("c", "linear", 8, 5, 1, 1)
    )
    assert peak(chain) == (3 + 8) * 16
    assert chain_peak(chain.layers) == (3 + 8) * 16


def test_a_shortcut_keeps_its_input_alive() -> None:
    block = Layer("b", "mbconv", 8, 8, 4, 4, 3, 1, 6, 48)
    assert chain_peak([block]) == (48 + 48) * 16
    assert chain_peak([block._replace(shortcut="identity")]) == (8 + 48 + 48) * 16


def test_peak_inside_a_residual_block() -> None:
    block = Layer("b", "residual", 8, 16, 4, 2, 3, 2, act="relu", shortcut="project")
    assert chain_peak([block]) == 8 * 16 + (16 + 16) * 4  # the input waits while the second convolution runs
    assert chain_peak([block._replace(shortcut="")]) == 8 * 16 + 16 * 4  # while the first one does


def test_tensors_live_until_their_last_reader() -> None:
    stem = Layer("stem", "conv", 3, 8, 4, 4)
    a = Layer("a", "conv", 8, 8, 4, 4)
    b = Layer("b", "conv", 8, 8, 4, 4, inputs=("stem",))
    join = Layer("sum", "join", 8, 8, 4, 4, inputs=("a", "b"))
    # While b runs, a's result waits: three maps of 8 channels. While the sum runs: two inputs and the output.
    assert peak(simple(stem, a, b, join)) == 3 * 8 * 16


def test_add_up_adds() -> None:
    layer = Layer("a", "conv", 3, 8, 4, 4, 3)
    assert add_up([layer, layer]) == (2 * 3 * 8 * 9 * 16, 2 * (3 * 8 * 9 + 16))
