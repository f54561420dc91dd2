"""Milliseconds of a network on this machine, through onnxruntime or torch: warm-up, repeats, median and quartiles.

With one thread, processor time of that thread is measured: on a busy machine waiting does not count, but the effects of
other programs on caches and clock rates do. With more threads, wall-clock time is measured.

On a GPU a call returns before the work is done. So every run ends by waiting for the device, and wall-clock time is
measured: that of a batch from the call to the answer. Networks run there through torch only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..blueprint import Blueprint, Layer
from ..errors import InputError, RunError, UnknownNameError
from .graph import graph

if TYPE_CHECKING:
    from torch import nn

Runner = Callable[[], object]  # runs the network once

ENGINES = ("onnx", "eager")
REPEATS, WARMUP_RUNS = 50, 5
TIME_LIMIT_S = 20.0  # for one network, but there are always MIN_REPEATS
MIN_REPEATS = 5
NO_ONNXRUNTIME = "the engine onnx needs onnxruntime: pip install 'supernetic[export]', or ask for the engine eager"
# The block that networks are compared with: it takes about as long as a layer, and is made of the same operations.
STANDARD_BLOCK = Blueprint(
    (Layer("standard", "mbconv", 32, 32, 28, 28, 3, 1, 4, 128, 32, act="relu", shortcut="identity"),)
)


@dataclass(frozen=True)
class Timing:
    """Milliseconds per batch: the median and the quartiles of the repeats."""

    ms: float  # median
    low: float  # lower quartile
    high: float  # upper quartile
    repeats: int
    engine: str
    batch: int
    threads: int
    device: str = "cpu"

    @property
    def per_image(self) -> float:
        """Milliseconds per image."""
        return self.ms / self.batch

    def to_json(self) -> dict[str, Any]:
        """A plain record for JSON; the device is named if it is not the CPU."""
        record = {k: v for k, v in asdict(self).items() if k != "device" or v != "cpu"}
        return {**record, "per_image": self.per_image}


def time_network(
    network: nn.Module | Blueprint,
    *,
    resolution: int,
    channels: int,
    batch: int = 1,
    engine: str = "onnx",
    threads: int = 1,
    repeats: int = REPEATS,
    warmup: int = WARMUP_RUNS,
    seconds: float = TIME_LIMIT_S,
    device: str = "cpu",
) -> Timing:
    """Time a network on batches of random images.

    Args:
        network: A module or a blueprint.
        resolution: Side of the images in pixels.
        channels: Channels of the images.
        batch: Images at a time.
        engine: `onnx` or `eager`.
        threads: Threads of the engine.
        repeats: Runs that are measured.
        warmup: Runs before them.
        seconds: Time limit; slow networks are repeated less often to keep within it.
        device: Where it runs; any but `cpu` needs the engine `eager`.

    Returns:
        The latency.
    """
    require(engine, batch, threads, repeats, device)
    with torch_threads(engine, threads):
        run = runner(network, engine, batch, threads, channels, resolution, device)
        return _timing(run, engine, batch, threads, repeats, warmup, seconds, device)


def time_file(
    path: str | Path,
    *,
    batch: int = 1,
    threads: int = 1,
    repeats: int = REPEATS,
    warmup: int = WARMUP_RUNS,
    seconds: float = TIME_LIMIT_S,
) -> Timing:
    """Time an ONNX file.

    Args:
        path: The file, or the directory of an exported model.
        batch: Images at a time.
        threads: Threads of onnxruntime.
        repeats: Runs that are measured.
        warmup: Runs before them.
        seconds: Time limit; slow networks are repeated less often to keep within it.

    Returns:
        The latency.
    """
    require("onnx", batch, threads, repeats)
    file = Path(path) / "model.onnx" if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise RunError(f"{file} does not exist: give an ONNX file or the directory of an exported model")
    run = _session(str(file), threads, batch)
    return _timing(run, "onnx", batch, threads, repeats, warmup, seconds)


def time_graph(data: bytes, *, seconds: float = TIME_LIMIT_S) -> Timing:
    """Time the content of an ONNX file on one image, with one thread.

    Args:
        data: The content.
        seconds: Time limit.

    Returns:
        The latency.
    """
    require("onnx", 1, 1, REPEATS)
    return _timing(_session(data, 1, 1), "onnx", 1, 1, REPEATS, WARMUP_RUNS, seconds)


MOST = {"batch": 1_000_000, "threads": 1_024, "repeats": 1_000_000}


def require(engine: str, batch: int, threads: int, repeats: int, device: str = "cpu") -> None:
    """Refuse settings with which nothing can be measured."""
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES)
    for name, value in (("batch", batch), ("threads", threads), ("repeats", repeats)):
        if not 1 <= value <= MOST[name]:
            raise InputError(f"{name} must be at least 1 and at most {MOST[name]:,}, got {value}")
    if engine == "onnx" and device != "cpu":
        raise InputError(f"the engine onnx runs on the CPU: ask for the engine eager, got the device {device}")
    if engine == "onnx" and not all(map(find_spec, ("onnx", "onnxruntime"))):
        raise InputError(NO_ONNXRUNTIME)


def _timing(
    run: Runner,
    engine: str,
    batch: int,
    threads: int,
    repeats: int,
    warmup: int,
    seconds: float,
    device: str = "cpu",
) -> Timing:
    clock = clock_of(threads, device)
    end = time.perf_counter() + seconds
    for _ in range(warmup):
        run()
        if time.perf_counter() > end - seconds / 2:  # so slow that warming up matters little
            break
    taken: list[int] = []
    while len(taken) < repeats and (len(taken) < MIN_REPEATS or time.perf_counter() < end):
        begin = clock()
        run()
        taken.append(clock() - begin)
    low, middle, high = (np.percentile(taken, [25, 50, 75]) / 1e6).tolist()
    return Timing(middle, low, high, len(taken), engine, batch, threads, device)


def clock_of(threads: int, device: str = "cpu") -> Callable[[], int]:
    """A clock in nanoseconds: processor time for one thread, else wall-clock time; the latter for other devices."""
    return time.thread_time_ns if threads == 1 and device == "cpu" else time.perf_counter_ns


def _wait_for_cuda(device: str) -> None:
    import torch

    torch.cuda.synchronize(device)


def _wait_for_mps(device: str) -> None:
    import torch

    torch.mps.synchronize()


# By kind of device: waits until it has done all that it was given. What is not here is done when a call returns.
WAITS: dict[str, Callable[[str], None]] = {"cuda": _wait_for_cuda, "mps": _wait_for_mps}


# --- against a standard -----------------------------------------------------------------------------------------------


class Stopwatch:
    """Times many networks so that they can be compared, although the speed of the machine varies meanwhile.

    A standard block runs before and after each run of a network, and the ratio of both times is measured. Multiplied by
    `ms`, the median time of the standard block, a ratio becomes milliseconds.

    Args:
        engine: `onnx` or `eager`.
        batch: Images at a time.
        threads: Threads of the engine.
        repeats: Runs of each network.
        device: Where they run.
    """

    def __init__(
        self, *, engine: str = "onnx", batch: int = 1, threads: int = 1, repeats: int = REPEATS, device: str = "cpu"
    ) -> None:
        require(engine, batch, threads, repeats, device)
        self.engine, self.batch, self.threads, self.repeats, self.device = engine, batch, threads, repeats, device
        self._standard = runner(STANDARD_BLOCK, engine, 1, threads, device=device)
        self._ticks: list[int] = []

    def ratio(self, blueprint: Blueprint) -> float:
        """The time of a network divided by that of the standard block: the mean of the repeats without extremes."""
        clock = clock_of(self.threads, self.device)
        ticks: list[int] = []  # of the standard, the network, the standard, ..., the standard
        with torch_threads(self.engine, self.threads):
            runs = self._standard, runner(blueprint, self.engine, self.batch, self.threads, device=self.device)
            for i in range(2 * (WARMUP_RUNS + self.repeats) + 1):
                begin = clock()
                runs[i % 2]()
                ticks.append(clock() - begin)
        ticks = ticks[2 * WARMUP_RUNS :]
        self._ticks += ticks[::2]
        around = np.array([(a + b) / 2 for a, b in pairwise(ticks[::2])])
        network = np.array(ticks[1::2])
        cut = self.repeats // 10
        kept = np.argsort(network / around)[cut : self.repeats - cut]
        return float(network[kept].sum() / around[kept].sum())

    @property
    def ms(self) -> float:
        """Milliseconds of the standard block: the median over everything measured so far."""
        return float(np.median(self._ticks)) / 1e6


# --- running ----------------------------------------------------------------------------------------------------------


@contextmanager
def torch_threads(engine: str, threads: int) -> Iterator[None]:
    """Set the number of threads of torch for a while; it holds for the whole process, so it is restored."""
    if engine != "eager":
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def runner(
    network: nn.Module | Blueprint,
    engine: str,
    batch: int,
    threads: int,
    channels: int = 0,
    resolution: int = 0,
    device: str = "cpu",
) -> Runner:
    """Prepare a network to run on random images.

    Args:
        network: A module or a blueprint.
        engine: `onnx` or `eager`.
        batch: Images at a time.
        threads: Threads of the engine.
        channels: Channels of the images; a blueprint has its own.
        resolution: Side of the images in pixels; a blueprint has its own.
        device: Where it runs.

    Returns:
        A function that runs the network once, and returns when that is done.
    """
    if engine == "eager":
        return _eager(network, batch, channels, resolution, device)
    blueprint = network if isinstance(network, Blueprint) else getattr(network, "blueprint", None)
    if isinstance(blueprint, Blueprint):
        return _session(graph(blueprint, _weights(network)), threads, batch)
    return _exported(network, threads, batch, channels, resolution)


def _weights(network: nn.Module | Blueprint) -> dict[str, npt.NDArray[Any]] | None:
    if isinstance(network, Blueprint):
        return None
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}


def _exported(network: Any, threads: int, batch: int, channels: int, resolution: int) -> Runner:
    """A module without a blueprint goes through torch's exporter."""
    from tempfile import TemporaryDirectory

    from ..exporters.onnx import write_onnx

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write_onnx(network, path, channels=channels, resolution=resolution)
        return _session(path.read_bytes(), threads, batch)


def _session(model: str | bytes, threads: int, batch: int) -> Runner:
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors only
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own classes are not public
        raise RunError(f"onnxruntime cannot read {model if isinstance(model, str) else 'the graph'}: {error}") from None
    source = session.get_inputs()[0]
    shape = [batch, *(int(n) for n in source.shape[1:])]
    images = {source.name: np.random.default_rng(0).standard_normal(shape, np.float32)}
    return lambda: session.run(None, images)


def _eager(network: Any, batch: int, channels: int, resolution: int, device: str) -> Runner:
    import torch

    from ..nn.network import build

    if isinstance(network, Blueprint):
        channels, resolution = network.in_channels, network.resolution
        network = build(network, seed=0)
    network = network.eval().to(device).to(memory_format=torch.channels_last)
    images = torch.randn(batch, channels, resolution, resolution).to(device)
    images = images.contiguous(memory_format=torch.channels_last)
    wait = WAITS.get(device.partition(":")[0])

    def run() -> object:
        with torch.inference_mode():
            output: object = network(images)
        if wait is not None:
            wait(device)
        return output

    return run
