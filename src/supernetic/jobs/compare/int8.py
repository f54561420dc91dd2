"""Networks in 8-bit integers: made from training images, compared on validation images, kept in a run, and tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import RunError, SupernetError, UnknownNameError
from ...ranking.int8 import difference
from ...runs.directory import Run, read_plain_file, write_atomically
from ...runs.files import INT8_NETWORKS, QUANTISED
from ...runs.records import NetworkRecord, int8_of, read_json
from ...runs.trust import require_name
from .comparison import NetworkTrainings

if TYPE_CHECKING:
    from ...datasets.dataset import Dataset
    from ...exporters.int8 import Int8, OnnxNetwork
    from ...nn.network import Network

INT8_MODES = ("auto", "no")
VALIDATION_IMAGES = 2_000  # that a quantised network is compared on, at most
LATENCY_S = 1.0  # that the latency of one network is measured for

Bools = npt.NDArray[np.bool_]


def require_mode(mode: str) -> bool:
    """Whether models are quantised, by a setting that is `auto` or `no`."""
    if mode not in INT8_MODES:
        raise UnknownNameError("choice of int8", mode, INT8_MODES)
    return mode != "no"


# --- one network ------------------------------------------------------------------------------------------------------


def quantise_network(network: Network, dataset: Dataset, seed: int) -> Int8:
    """Quantise a network, and compare it with itself in floats on validation images.

    Args:
        network: In evaluation mode, on the CPU.
        dataset: Training images give the ranges of activations, validation images the comparison.
        seed: Chooses the training images.

    Returns:
        The file's content and the comparison. A network that onnxruntime cannot quantise is a `SupernetError`.
    """
    from ...datasets.batches import Batches
    from ...exporters.int8 import CALIBRATION_IMAGES, Int8, quantise
    from ...timing.graph import graph

    resolution = network.blueprint.resolution
    images = Batches(dataset, "train", seed=seed, resolution=resolution).fixed(CALIBRATION_IMAGES)
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
    data = quantise(graph(network.blueprint, weights), np.ascontiguousarray(images.numpy()))
    validated = _validated(data, network, dataset) if len(dataset.splits["valid"]) else {}
    return Int8(data, {"calibration/images": float(len(images)), **validated})


def _validated(data: bytes, network: Network, dataset: Dataset) -> dict[str, float | None]:
    """Both networks on the same validation images."""
    import torch

    from ...datasets.batches import Batches

    batches = Batches(dataset, "valid", resolution=network.blueprint.resolution)
    quantised = _opened(data)
    right: dict[str, list[Bools]] = {"int8": [], "float": []}
    seen = 0
    for images, labels in batches.evaluate():
        with torch.inference_mode():
            for name, logits in (("int8", quantised(images)), ("float", network(images))):
                right[name].append((logits.argmax(dim=1) == labels).numpy())
        seen += len(labels)
        if seen >= VALIDATION_IMAGES:
            break
    return difference("valid", np.concatenate(right["int8"]), np.concatenate(right["float"]))


def _opened(data: bytes) -> OnnxNetwork:
    """A quantised network, ready to run."""
    from tempfile import TemporaryDirectory

    import torch

    from ...exporters.int8 import OnnxNetwork

    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        file.write_bytes(data)
        return OnnxNetwork(file, torch.get_num_threads())


def latencies(data: bytes, float_ms: float | None) -> dict[str, float | None]:
    """Facts about the latency of a quantised network, beside that of the float one."""
    from ...timing.measure import time_graph

    return {"latency/ms": time_graph(data, seconds=LATENCY_S).ms, "latency/float_ms": float_ms}


def measured_int8(network: Network, dataset: Dataset, seed: int) -> tuple[Int8 | None, str]:
    """Quantise a network outside of a search, with the latencies of both; it meets no test image.

    Args:
        network: In evaluation mode, on the CPU.
        dataset: As for `quantise_network`.
        seed: As for `quantise_network`.

    Returns:
        The file and what is known of it, or None and the reason.
    """
    from ...timing.measure import time_network

    blueprint = network.blueprint
    try:
        int8 = quantise_network(network, dataset, seed)
    except SupernetError as error:
        return None, f"there is no int8 file: {error}"
    resolution, channels = blueprint.resolution, blueprint.in_channels
    float_ms = time_network(blueprint, resolution=resolution, channels=channels, seconds=LATENCY_S).ms
    return replace(int8, facts={**int8.facts, **latencies(int8.data, float_ms)}), ""


# --- the networks of a run --------------------------------------------------------------------------------------------


def keep_int8(run: Path, name: str, int8: Int8) -> dict[str, Any]:
    """Write the quantised file of a network into a run.

    Args:
        run: The run directory.
        name: The network's name.
        int8: The file and what is known of it.

    Returns:
        The entry for `quantised.json`.
    """
    (run / INT8_NETWORKS).mkdir(exist_ok=True)
    try:
        write_atomically(_file(run, name), int8.data)
    except OSError as error:
        raise RunError(f"{_file(run, name)} cannot be written: {error.strerror or error}") from None
    return {"sha256": sha256(int8.data).hexdigest(), "int8": dict(int8.facts)}


def _file(run: Path, name: str) -> Path:
    return run / INT8_NETWORKS / f"{require_name(name)}.onnx"


def stored_int8(run: Path, record: NetworkRecord) -> Int8 | None:
    """The quantised file that a run holds of a network, checked against its digest.

    Args:
        run: The run directory.
        record: The network's record; what `test` measured is there.

    Returns:
        The file and all that is known of it; None if the run has none.
    """
    from ...exporters.int8 import Int8

    if not (run / QUANTISED).exists():
        return None
    entries = read_json(run / QUANTISED)
    entry = entries.get(record.name) if isinstance(entries, Mapping) else None
    facts = None if entry is None else int8_of(entry, run / QUANTISED)
    if entry is None or facts is None:
        return None
    file = _file(run, record.name)
    data = read_plain_file(run, file)
    if sha256(data).hexdigest() != entry.get("sha256"):
        raise RunError(f"{file} was changed after it was written: its checksum does not match")
    return Int8(data, {**(record.int8 or {}), **facts})


def test_int8(
    comparison: NetworkTrainings, run: Run, record: NetworkRecord, floats: Bools, latency: Mapping[str, Any] | None
) -> tuple[dict[str, float | None], Bools] | None:
    """Test the quantised file of a network, for the step `test`, the only one that may.

    Args:
        comparison: The data.
        run: The run.
        record: The network's record. If latencies in 8-bit integers are known, they are not measured again.
        floats: Which test images the network gets right in floats, with the weights that are exported.
        latency: Of the network in floats.

    Returns:
        All that is known of the file, and which test images it gets right; None if there is none.
    """
    from ...networks.pool import evaluate

    int8 = stored_int8(run.path, record)
    if int8 is None:
        return None
    network = _opened(int8.data)
    right = evaluate(network, comparison.dataset, "test", network.resolution)[1]
    times: dict[str, float | None] = {k: v for k, v in (record.int8 or {}).items() if k.startswith("latency/")}
    if not times:
        float_ms = (latency or {}).get("latency/ms")
        times = latencies(int8.data, float_ms if isinstance(float_ms, int | float) else None)
    return {**int8.facts, **difference("test", right, floats), **times}, right
