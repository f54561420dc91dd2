"""int8: a network as an ONNX file of 8-bit integers, a quarter of the size, by onnxruntime's static quantisation.

How it is done, and why (`docs/findings/int8.md` has the measurements):

- BN is folded into the convolutions first. Left to itself, it would be computed in floats, between two conversions.
- Weights are signed, with a scale per output channel: one scale for all loses points in depthwise convolutions.
- Weights have 7 bits. On x86 processors without VNNI, onnxruntime adds pairs of products in 16 bits, where 8-bit
  weights overflow and logits come out wrong. With 7 bits they cannot, and every processor gives the same numbers.
- Activations are unsigned, with 8 bits. Their ranges are the extremes over some training images.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..errors import SupernetError
from .onnx import INPUT, require_onnx, run, session

Floats = npt.NDArray[np.float32]

CALIBRATION_IMAGES, CALIBRATION_BATCH_IMAGES = 256, 32


@dataclass(frozen=True)
class Int8:
    """A quantised network: the content of its file, and what was measured (the keys are in `ranking.int8`)."""

    data: bytes
    facts: Mapping[str, float | None]


class OnnxNetwork(nn.Module):
    """An ONNX file as a module, so that it is evaluated as all networks are; it computes on the CPU.

    Args:
        path: The file.
        threads: Of onnxruntime.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        super().__init__()
        self._session = session(path, threads)

    @property
    def resolution(self) -> int:
        """Of its images."""
        return int(self._session.get_inputs()[0].shape[-1])

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits of a batch."""
        logits = run(self._session, np.ascontiguousarray(images.cpu().numpy()))
        return torch.from_numpy(logits.reshape(len(images), -1))


def quantise(model: bytes, images: Floats) -> bytes:
    """Quantise a network.

    Args:
        model: Its ONNX file in floats, with the input `images`.
        images: Prepared training images, from which ranges of activations are learned.

    Returns:
        The content of the quantised file: equal for equal arguments. It has been run once. A network that onnxruntime
        cannot quantise is a `SupernetError`.
    """
    require_onnx()
    with TemporaryDirectory() as folder, _quiet():
        try:
            data = _quantised(model, images, Path(folder))
        except Exception as error:  # onnx, onnxruntime and protobuf have errors of their own
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SupernetError(f"onnxruntime cannot quantise the network: {reason}") from None
        file = Path(folder) / "quantised.onnx"
        file.write_bytes(data)
        logits = run(session(file), images[:CALIBRATION_BATCH_IMAGES])
    if not np.isfinite(logits).all():
        raise SupernetError("the quantised network's logits are not finite")
    return data


def _quantised(model: bytes, images: Floats, folder: Path) -> bytes:
    from onnxruntime.quantization import (  # type: ignore[import-untyped]
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    starts = range(0, len(images), CALIBRATION_BATCH_IMAGES)
    quantize_static(
        _folded(model, folder),
        folder / "int8.onnx",
        _Batches([images[i : i + CALIBRATION_BATCH_IMAGES] for i in starts]),
        quant_format=QuantFormat.QDQ,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
    )
    return _without_notes((folder / "int8.onnx").read_bytes())


def _folded(model: bytes, folder: Path) -> Any:
    """The network with BN folded into its convolutions and all shapes known, as onnxruntime's basic passes leave it."""
    import onnx
    import onnxruntime  # type: ignore[import-untyped]
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata  # type: ignore[import-untyped]

    file = folder / "folded.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(file)
    options.log_severity_level = 3  # errors only
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    folded = onnx.shape_inference.infer_shapes(onnx.load(str(file)))
    add_pre_process_metadata(folded)
    return folded


def _without_notes(data: bytes) -> bytes:
    """The file without what the quantiser notes about itself, in an order of bytes that is always the same."""
    import onnx

    model = onnx.load_model_from_string(data)
    del model.metadata_props[:]
    onnx.checker.check_model(model)
    plain: bytes = model.SerializeToString(deterministic=True)
    return plain


class _Batches:
    """Calibration images as onnxruntime asks for them: a batch at every call, then None."""

    def __init__(self, batches: Sequence[Floats]) -> None:
        self._batches = iter(batches)

    def get_next(self) -> dict[str, Floats] | None:
        batch = next(self._batches, None)
        return None if batch is None else {INPUT: batch}


@contextmanager
def _quiet() -> Iterator[None]:
    """The quantiser writes advice to the root logger, and would give it a handler if it had none."""
    root, silence = logging.getLogger(), logging.NullHandler()
    level = root.level
    root.addHandler(silence)
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(silence)
