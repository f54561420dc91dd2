"""Tables against a machine whose layers take exactly as long as we say, and once against this one."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supernetic.blueprint import Blueprint, Layer
from supernetic.catalog import space
from supernetic.costs.macs import macs_and_params
from supernetic.costs.table import costs_of
from supernetic.errors import InputError, RunError
from supernetic.exporters.onnx import have_onnx
from supernetic.space import Archs, Space
from supernetic.spaces.macro import Macro
from supernetic.timing import measure
from supernetic.timing.lookup import LatencyTable, measure_table, reachable_layers, signature, single_layer

MACRO = space("macro:channels=8,resolution=16")
UNIT = 0.2  # ms of the standard block
onnx = pytest.mark.skipif(not have_onnx(), reason="needs the extra export")


def truth(layer: Layer) -> float:
    """What a layer adds to a network, in standard blocks: not linear in anything."""
    macs, params = macs_and_params(layer)
    return float(0.05 + (macs / 1e6) ** 0.7 + params / 1e6 + 0.01 * layer.kernel)


class Machine:
    """Takes the place of the stopwatch: a layer by itself takes longer, a network has an overhead of its own."""

    noise = 0.0

    def __init__(self, **_: Any) -> None:
        self.rng = np.random.default_rng(0)

    def ratio(self, blueprint: Blueprint) -> float:
        alone = blueprint.layers[0].name == "image"
        exact = 1.25 * truth(blueprint.layers[1]) + 0.03 if alone else 0.4 + sum(map(truth, blueprint))
        return exact * float(1 + self.noise * self.rng.standard_normal())

    @property
    def ms(self) -> float:
        return UNIT


class Few(Macro):
    """A space that always draws the same network."""

    def sample(self, rng: np.random.Generator, n: int, *, depth_uniform: bool = False) -> Archs:
        return np.zeros((n, 8), dtype=np.int8)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> type[Machine]:
    monkeypatch.setattr(measure, "Stopwatch", Machine)
    return Machine


def exact(made: Space, arch: list[int]) -> float:
    return UNIT * (0.4 + sum(map(truth, made.blueprint(tuple(arch)))))


@pytest.mark.parametrize("name", ["macro:channels=8,resolution=16", "nasbench201:channels=4,cells=1"])
def test_sums_are_the_networks_latencies(machine: type[Machine], name: str) -> None:
    made = space(name)
    table = measure_table(made)
    archs = made.sample(np.random.default_rng(7), 50)
    latencies = costs_of(made, archs, table) / table.scale
    assert latencies == pytest.approx([exact(made, a) for a in archs.tolist()], rel=1e-3)
    assert latencies.tolist() == [table.ms(made.blueprint(tuple(a))) for a in archs.tolist()]
    assert table.error is not None
    assert table.error.mean < 0.1
    assert table.error.tau > 0.98  # networks may be equally fast
    assert table.error.networks == 12


def test_the_error_is_that_of_networks_not_fitted_to(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10 % of noise in two passes over each network: |N(0, .1)| / sqrt(2) is .056 on average."""
    monkeypatch.setattr(machine, "noise", 0.1)
    table = measure_table(MACRO, fitted=16, held_out=400)
    assert table.error is not None
    assert 4.5 < table.error.mean < 8.5
    assert table.error.worst > 3 * table.error.mean / 2
    assert 0.3 < table.error.tau < 0.95


def test_a_table_survives_json(machine: type[Machine]) -> None:
    table = measure_table(MACRO, most=9)
    records = json.loads(json.dumps(table.to_records()))
    again = LatencyTable.from_records(records)
    archs = MACRO.sample(np.random.default_rng(0), 200)
    assert (costs_of(MACRO, archs, again) == costs_of(MACRO, archs, table)).all()
    assert again.to_records() == table.to_records()
    assert again.error == table.error
    assert again.standard == UNIT
    assert "0.200 ms" in again.lines()[2]
    assert again.require(MACRO) is again
    with pytest.raises(RunError, match="another space than this macro"):
        again.require(space("macro"))
    several: list[list[dict[str, Any]]] = [[], [{}], records[1:], [records[0], {"kind": "layer"}]]
    for damaged in several:
        with pytest.raises(RunError, match="damaged"):
            LatencyTable.from_records(damaged)


def test_layers_beyond_the_limit_are_estimated_and_said_to_be(machine: type[Machine]) -> None:
    made = space("attentive:resolutions=64+96,width=0.5")
    table = measure_table(made, most=150)
    assert len(table.layers) == 150
    assert "150 more estimated" in table.lines()[0]
    archs = made.sample(np.random.default_rng(3), 100)
    expected = np.array([exact(made, a) for a in archs.tolist()])
    assert np.abs(costs_of(made, archs, table) / table.scale / expected - 1).mean() < 0.03
    assert table.error is not None
    assert 0 < table.error.mean < 3


@pytest.mark.parametrize("name", ["macro", "attentive", "nasbench201", "nasbench101-chain", "scarlet-s2"])
def test_every_layer_that_can_be_reached_is_listed(name: str) -> None:
    made = space(name)
    listed = reachable_layers(made)
    assert len(listed) == len(set(listed))
    archs = made.sample(np.random.default_rng(99), 300).tolist()
    assert {signature(layer) for a in archs for layer in made.blueprint(tuple(a))} <= set(listed)


def test_most_used_layers_come_first() -> None:
    """All networks of NAS-Bench-Macro begin and end alike."""
    first = reachable_layers(MACRO)[:4]
    assert {layer.kind for layer in first} == {"conv", "gap", "linear"}


def test_what_a_latency_depends_on() -> None:
    layer = Layer("a", "conv", 3, 4, 8, 8, 3, inputs=("x",), stage=2)
    assert signature(layer) == signature(layer._replace(name="b", stage=1, inputs=()))
    assert signature(layer) != signature(layer._replace(act="relu"))
    join = layer._replace(kind="join", inputs=("x", "y"))
    assert signature(join) != signature(join._replace(inputs=("x", "y", "z")))
    concat = single_layer(signature(join._replace(c_in=8, join="concat")))
    assert concat.in_channels == 4
    assert concat.wiring() == [(-1,), (0, 0)]


@pytest.mark.parametrize("engine", [pytest.param("onnx", marks=onnx), "eager"])
@pytest.mark.parametrize("name", ["macro:channels=8,resolution=8", "nasbench101:vertices=4,channels=8,resolution=8"])
def test_on_this_machine(engine: str, name: str) -> None:
    made = space(name)
    seen: list[tuple[int, int]] = []
    table = measure_table(
        made, engine=engine, repeats=2, fitted=3, held_out=2, most=12, progress=lambda i, n: seen.append((i, n))
    )
    assert table.engine == engine
    assert all(ms > 0 for ms in table.layers.values())
    assert (costs_of(made, made.sample(np.random.default_rng(0), 5), table) > 0).all()
    total = 12 + 2 * 5
    assert seen == [(i, total) for i in range(1, total + 1)]
    assert f"({engine}, batch 1, 1 thread)" in table.lines()[0]


def test_no_network_is_both_fitted_to_and_tested_on(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """EfficientNet has eleven: 16 and 12 become 6 and 5, each measured in two passes."""
    seen: list[Blueprint] = []
    ratio = machine.ratio

    def listen(self: Machine, blueprint: Blueprint) -> float:
        seen.append(blueprint)
        return ratio(self, blueprint)

    monkeypatch.setattr(machine, "ratio", listen)
    table = measure_table(space("efficientnet:resolution=32"))
    whole = [b for b in seen if b.layers[0].name != "image"]
    assert len(whole) == 22
    assert len(set(whole)) == 11
    assert table.error is not None
    assert table.error.networks == 5


def test_refusals(machine: type[Machine]) -> None:
    with pytest.raises(InputError, match="at least 5 networks, macro has 1"):
        measure_table(Few())
    with pytest.raises(InputError, match="at least 3 networks to fit and 2 to test, got 2 and 2"):
        measure_table(MACRO, fitted=2, held_out=2)
    assert "not measured" in replace(measure_table(MACRO), error=None).lines()[1]
