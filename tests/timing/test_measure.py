"""Measurements with clocks that the tests turn themselves; nothing here asserts how fast this machine is."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from supernetic.blueprint import Blueprint, Layer
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.exporters.onnx import have_onnx
from supernetic.nn.network import build
from supernetic.timing import measure
from supernetic.timing.graph import graph
from supernetic.timing.measure import Stopwatch, time_file, time_network

NETWORK = Blueprint((Layer("stem", "conv", 3, 4, 8, 4, 3, 2), Layer("gap", "gap", 4, 4, 4, 1)))
onnx = pytest.mark.skipif(not have_onnx(), reason="needs the extra export")
ENGINES = [pytest.param("onnx", marks=onnx), "eager"]


class Bench:
    """A clock that only moves when something runs: each run takes the next of the times given, for ever."""

    def __init__(self, times: list[int]) -> None:
        self.now, self.times, self.runs = 0, times, 0

    def runner(self) -> Callable[[], object]:
        def run() -> None:
            self.now += self.times[self.runs % len(self.times)]
            self.runs += 1

        return run


def use(monkeypatch: pytest.MonkeyPatch, bench: Bench, *others: Bench) -> None:
    """Networks run on the bench (others in turn), and its clock is the clock."""
    waiting = [*others, bench]
    monkeypatch.setattr(
        measure, "runner", lambda *_, **__: (waiting.pop(0) if len(waiting) > 1 else waiting[0]).runner()
    )
    monkeypatch.setattr(measure, "clock_of", lambda *_: lambda: bench.now + sum(o.now for o in others))


def test_median_and_quartiles_of_the_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Bench([9_000_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]))
    timing = time_network(NETWORK, resolution=8, channels=3, batch=4, engine="eager", repeats=5, warmup=1)
    assert (timing.low, timing.ms, timing.high) == (2.0, 3.0, 4.0)  # the first, of 9 ms, was the warm-up
    assert (timing.repeats, timing.engine, timing.batch, timing.threads) == (5, "eager", 4, 1)
    assert timing.per_image == timing.to_json()["per_image"] == 0.75


def test_slow_networks_are_repeated_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench([4_000_000_000])
    use(monkeypatch, bench)
    monkeypatch.setattr(time, "perf_counter", lambda: bench.now / 1e9)
    few = time_network(NETWORK, resolution=8, channels=3, engine="eager", repeats=50, seconds=1)
    assert few.repeats == measure.MIN_REPEATS
    some = time_network(NETWORK, resolution=8, channels=3, engine="eager", repeats=50, warmup=2, seconds=40)
    assert some.repeats == 8


def test_ratios_do_not_move_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that takes three times the standard's time, on a machine that grows four times slower meanwhile."""
    runs = measure.WARMUP_RUNS + 40
    speeds = [*[1] * runs, *[4] * runs]
    standard = Bench([1000 * s for s in speeds])
    network = Bench([3000 * s for s in speeds])
    use(monkeypatch, network, standard)
    watch = Stopwatch(engine="eager", repeats=40)
    ratios = [watch.ratio(NETWORK) for _ in range(2)]
    assert network.now > 2 * 40 * 3000 * 2  # it did grow slower
    assert ratios == pytest.approx([3.0, 3.0], rel=0.02)


def test_a_few_disturbed_repeats_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Bench([*[3000] * 19, 300_000])
    use(monkeypatch, network, Bench([1000]))
    assert Stopwatch(engine="eager", repeats=40).ratio(NETWORK) == pytest.approx(3.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_both_engines_measure_networks_and_blueprints(engine: str) -> None:
    before = torch.get_num_threads()
    for network in (NETWORK, build(NETWORK, seed=0)):
        timing = time_network(network, resolution=8, channels=3, batch=2, engine=engine, repeats=3, warmup=1)
        assert 0 < timing.low <= timing.ms <= timing.high
        assert timing.repeats == 3
    assert torch.get_num_threads() == before
    assert Stopwatch(engine=engine, repeats=3).ratio(NETWORK) > 0


@onnx
def test_more_images_take_longer() -> None:
    """By a factor of 256, so that no noise can hide it."""
    one, many = (time_network(NETWORK, resolution=8, channels=3, batch=b, repeats=9).ms for b in (1, 256))
    assert many > one


@onnx
def test_a_module_without_a_blueprint_goes_through_the_exporter() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten())
    assert time_network(module, resolution=6, channels=3, repeats=3).ms > 0


@onnx
def test_files_and_model_directories(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(graph(NETWORK))
    assert time_file(tmp_path, repeats=3).ms > 0
    assert time_file(tmp_path / "model.onnx", batch=3, repeats=3).batch == 3
    (tmp_path / "broken.onnx").write_text("nothing")
    with pytest.raises(RunError, match=r"cannot read .*broken"):
        time_file(tmp_path / "broken.onnx")
    with pytest.raises(RunError, match="does not exist"):
        time_file(tmp_path / "other.onnx")


def test_one_thread_is_timed_on_the_processor() -> None:
    clock = measure.clock_of(1)
    begin = clock()
    time.sleep(0.05)
    assert clock() - begin < 40_000_000
    wall = measure.clock_of(2)
    begin = wall()
    time.sleep(0.05)
    assert wall() - begin > 40_000_000


class LateDevice:
    """A device whose calls return at once and whose clock moves only while somebody waits, two milliseconds a call."""

    def __init__(self) -> None:
        self.now, self.begun, self.waits = 0, 0, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.begun += 1
        assert x.device.type == "meta"
        return x

    def wait(self, device: str) -> None:
        assert device == "meta:0"
        self.now += 2_000_000 * self.begun
        self.begun = 0
        self.waits += 1


@pytest.mark.parametrize("batch", [1, 16])
def test_another_device_is_waited_for(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    late, module = LateDevice(), nn.Identity()
    monkeypatch.setattr(module, "forward", late.forward)
    monkeypatch.setitem(measure.WAITS, "meta", late.wait)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: late.now)
    timing = time_network(
        module, resolution=8, channels=3, batch=batch, engine="eager", repeats=4, warmup=1, device="meta:0"
    )
    assert (timing.ms, timing.low, timing.high, timing.repeats) == (2.0, 2.0, 2.0, 4)
    assert (late.waits, late.begun) == (5, 0)
    assert timing.per_image == 2.0 / batch
    assert timing.to_json()["device"] == "meta:0"


def test_layers_are_compared_with_a_standard_on_the_same_device(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setitem(measure.WAITS, "meta", waited.append)
    assert Stopwatch(engine="eager", repeats=5, device="meta").ratio(NETWORK) > 0
    assert waited == ["meta"] * (2 * (measure.WARMUP_RUNS + 5) + 1)


def test_processor_time_says_nothing_about_another_device() -> None:
    assert measure.clock_of(1, "cuda") is time.perf_counter_ns
    assert measure.clock_of(1) is time.thread_time_ns
    assert "device" not in time_network(NETWORK, resolution=8, channels=3, engine="eager", repeats=1).to_json()


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'onnx'"):
        time_network(NETWORK, resolution=8, channels=3, engine="onx")
    with pytest.raises(InputError, match="batch must be at least 1 and at most 1,000,000, got 0"):
        time_network(NETWORK, resolution=8, channels=3, batch=0)
    with pytest.raises(InputError, match="ask for the engine eager, got the device cuda"):
        time_network(NETWORK, resolution=8, channels=3, device="cuda")
    monkeypatch.setattr(measure, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="ask for the engine eager"):
        time_network(NETWORK, resolution=8, channels=3)
    assert np.isfinite(time_network(NETWORK, resolution=8, channels=3, engine="eager", repeats=2).ms)
