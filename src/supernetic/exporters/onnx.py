"""ONNX: a network as a file that runs without torch and without us; it is read back and compared before it counts."""

from __future__ import annotations

import copy
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import InputError, RunError, SupernetError

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
NEEDED = f"ONNX needs {', '.join(PACKAGES)}: install them with pip install 'supernetic[export]'"
INPUT, OUTPUT = "images", "logits"
TOLERANCE = 1e-3  # of the largest logit; rounding stays far below it, a wrong graph far above
NOISY_LOGGERS = ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")


def have_onnx() -> bool:
    """Whether the packages of the extra `export` are installed."""
    return all(find_spec(name) for name in PACKAGES)


def require_onnx() -> None:
    """Raise an error that says what to install, if they are missing."""
    if not have_onnx():
        raise InputError(NEEDED)


def write_onnx(network: nn.Module, path: Path, *, channels: int, resolution: int) -> float:
    """Write a network as an ONNX file, for batches of any size. A file whose logits differ from torch's is not kept.

    Args:
        network: The network.
        path: The file.
        channels: Channels of the images.
        resolution: Their height and width in pixels.

    Returns:
        The largest difference between onnxruntime's logits and torch's, as a share of the largest logit.
    """
    require_onnx()
    network = copy.deepcopy(network).cpu().eval()
    data = _exported(network, torch.zeros(2, channels, resolution, resolution))
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(data)
        deviation = compare(network, temporary, channels, resolution)
        if not deviation <= TOLERANCE:
            raise SupernetError(f"{path} was not written: its logits differ from the network's by {deviation:.2g}")
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return deviation


def compare(network: nn.Module, path: Path, channels: int, resolution: int) -> float:
    """The largest difference between the logits of a network and of its file, as a share of the largest logit."""
    reader = session(path)
    return largest_difference(network, lambda images: run(reader, images.numpy()), channels, resolution)


def largest_difference(
    network: nn.Module, other: Callable[[torch.Tensor], np.ndarray[Any, Any]], channels: int, resolution: int
) -> float:
    """The largest difference between the logits of a network and of another form of it, for batches of two sizes.

    Args:
        network: The network.
        other: Logits of a batch of images by the other form.
        channels: Channels of the images.
        resolution: Their height and width in pixels.

    Returns:
        The difference, as a share of the largest logit.
    """
    generator = torch.Generator().manual_seed(0)
    worst = 0.0
    for batch in (1, 3):
        images = torch.randn(batch, channels, resolution, resolution, generator=generator)
        with torch.no_grad():
            ours, theirs = network(images).numpy(), other(images)
        worst = max(worst, float(np.abs(ours - theirs).max() / max(float(np.abs(ours).max()), 1e-12)))
    return worst


def session(path: str | Path, threads: int = 1) -> Any:
    """An onnxruntime session on the CPU."""
    require_onnx()
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    if not Path(path).is_file():
        raise RunError(f"{path} does not exist")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base
        raise RunError(f"{path} is not an ONNX file that can be run: {str(error).splitlines()[0]}") from None


def run(reader: Any, images: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Logits of a batch, N x C x resolution x resolution."""
    try:
        (logits,) = reader.run([reader.get_outputs()[0].name], {reader.get_inputs()[0].name: images})
    except Exception as error:
        raise SupernetError(f"onnxruntime cannot run the network: {' '.join(str(error).split())}") from None
    return np.asarray(logits)


def _exported(network: nn.Module, example: torch.Tensor) -> bytes:
    """The file's bytes: equal for equal networks, and free of the exporter's notes on where the code lay."""
    batch = torch.export.Dim("batch")
    with quiet_export(), torch.no_grad():
        program: Any = torch.onnx.export(
            network,
            (example,),
            dynamo=True,
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_shapes=({0: batch},),
            verbose=False,
        )
        _rename(program.model)
        data: bytes = program.model_proto.SerializeToString(deterministic=True)
    return data


def _rename(model: Any) -> None:
    """Name nodes and values after the layer whose weights they use, or the last before them: `stage1.0.expand/Relu`."""
    outputs = {id(v) for v in model.graph.outputs}
    taken: dict[str, int] = {}
    layer = INPUT
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    for node in model.graph:
        node.metadata_props.clear()
        weights = [v.name for v in node.inputs if v is not None and v.name.endswith(".weight")]
        if weights:
            layer = weights[0].removesuffix(".weight").removesuffix(".op")
        name = f"{layer}/{node.op_type}"
        taken[name] = taken.get(name, 0) + 1
        node.name = name if taken[name] == 1 else f"{name}_{taken[name]}"
        for i, value in enumerate(node.outputs):
            value.metadata_props.clear()
            if id(value) not in outputs:
                value.name = f"{node.name}.{i}" if i else node.name


@contextmanager
def quiet_export() -> Iterator[None]:
    """The exporter warns of packages that nobody needs here, and of its own ways."""
    loggers = [logging.getLogger(name) for name in NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
