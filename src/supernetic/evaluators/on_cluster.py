"""An evaluator whose architectures are scored by the workers of a cluster.

The evaluator is sent to every worker once, under a digest: its settings, and all its tensors (such as a supernet's
weights) as safetensors. Images are not sent: a data set travels as what `datasets.load` was told, is loaded again by
the worker, and must have the same pixels there.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import ceil, nan
from typing import Any

import cloudpickle
import numpy as np
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from ..datasets.batches import Batches
from ..datasets.dataset import Dataset, stored_images
from ..errors import DataError, InputError
from ..hardware import CPU, Hardware
from ..networks.pool import dataset_of
from ..objective import Metrics
from ..parallel.piece import read_shared
from ..parallel.workers import Report, current_cluster, map_in_workers, on_cluster
from ..space import Arch
from ..training.devices import autocast
from .evaluator import Evaluator

MOST_IN_A_PIECE = 100  # architectures: what is lost with a worker
PIECES_PER_WORKER = 2  # so that a slow piece at the end keeps only one worker busy
HEADER_BYTES = 8  # of the length of what comes before the tensors


def on_workers(evaluate: Evaluator, hardware: Hardware = CPU) -> Evaluator:
    """The evaluator, asked by way of the cluster if there is one.

    Args:
        evaluate: The evaluator.
        hardware: Whose mixed precision it computes in.

    Returns:
        An evaluator with the same answers.
    """
    return ClusterEvaluator(evaluate, hardware) if on_cluster() else evaluate


class ClusterEvaluator:
    """Scores architectures on a cluster: the same answers in the same order."""

    def __init__(self, evaluate: Evaluator, hardware: Hardware = CPU) -> None:
        """Send the evaluator to the workers."""
        cluster = current_cluster()
        assert cluster is not None
        self.evaluate, self.hardware, self.cluster = evaluate, hardware, cluster
        self.digest = cluster.share(pack_evaluator(evaluate))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the evaluator."""
        return self.evaluate.metrics

    @property
    def test(self) -> frozenset[str]:
        """Those of the evaluator."""
        return self.evaluate.test

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; NaN for one that ended every worker that tried it."""
        order = sorted(range(len(archs)), key=lambda i: archs[i])  # neighbours share work
        size = ceil(len(archs) / max(1, PIECES_PER_WORKER * self.cluster.size))
        size = max(1, min(MOST_IN_A_PIECE, size))
        rows = [order[start : start + size] for start in range(0, len(order), size)]
        answers: list[Metrics] = [{}] * len(archs)
        lost: list[int] = []
        for some, records in zip(rows, self._ask(archs, rows), strict=True):
            if records is None:
                lost += some
                continue
            for row, record in zip(some, records, strict=True):
                answers[row] = record
        missing = dict.fromkeys(self.metrics, nan)
        for row, records in zip(lost, self._ask(archs, [[row] for row in lost]), strict=True):  # which of them is it?
            answers[row] = missing if records is None else records[0]
        return answers

    def _ask(self, archs: Sequence[Arch], rows: Sequence[Sequence[int]]) -> list[list[Metrics] | None]:
        """The records of each piece; None for one that was given up."""
        pieces = [[archs[row] for row in some] for some in rows]
        work = _Score(self.digest, torch.get_num_threads(), self.hardware)
        return map_in_workers(work, pieces, 1, given_up=lambda *_: None)


@dataclass(frozen=True)
class _Score:
    """What a worker does with some architectures."""

    digest: str
    threads: int  # other numbers of threads give other roundings
    hardware: Hardware

    def __call__(self, archs: Sequence[Arch], report: Report) -> list[Metrics] | None:
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            with autocast(self.hardware):
                return _evaluator(self.digest)([tuple(a) for a in archs])
        finally:
            torch.set_num_threads(before)


@lru_cache(maxsize=2)
def _evaluator(digest: str) -> Evaluator:
    return unpack_evaluator(read_shared(digest))


# --- an evaluator as bytes --------------------------------------------------------------------------------------------


def pack_evaluator(evaluate: Evaluator) -> bytes:
    """An evaluator without its images: its settings, and its tensors as safetensors."""
    settings = io.BytesIO()
    pickler = _Pickler(settings)
    try:
        pickler.dump(evaluate)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        name = type(evaluate).__name__
        raise InputError(f"the evaluator {name} cannot be sent to a cluster: {error}") from None
    first = settings.getvalue()
    return len(first).to_bytes(HEADER_BYTES, "little") + first + save_tensors(pickler.tensors)


def unpack_evaluator(data: bytes) -> Evaluator:
    """The evaluator that `pack_evaluator` got; called on a worker."""
    end = HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "little")
    unpickler = _Unpickler(io.BytesIO(data[HEADER_BYTES:end]))
    unpickler.tensors = load_tensors(data[end:])
    evaluate: Evaluator = unpickler.load()
    return evaluate


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Puts tensors aside; data sets become what they are loaded by."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[int, str] = {}
        self.kept: list[Tensor] = []  # as long as their ids are names

    def persistent_id(self, value: Any) -> Any:
        if type(value) is not Tensor or value.layout != torch.strided:
            return None
        if id(value) not in self.names:
            name = self.names[id(value)] = str(len(self.names))
            self.tensors[name] = value.detach().cpu().contiguous().clone()
            self.kept.append(value)
        return self.names[id(value)], str(value.device), tuple(value.stride()), value.requires_grad

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Dataset) and value.loading:
            rest = {f.name: getattr(value, f.name) for f in fields(value) if f.name != "images"}
            return _dataset, (dict(value.loading), pixel_digest(value), rest)
        if isinstance(value, Batches):  # made anew from the data set, whose images it holds
            return Batches, tuple(getattr(value, f.name) for f in fields(value) if f.init)
        return super().reducer_override(value)


class _Unpickler(pickle.Unpickler):
    tensors: Mapping[str, Tensor]

    def persistent_load(self, name: Any) -> Tensor:
        key, device, strides, requires_grad = name
        tensor = self.tensors[key]
        if strides != tensor.stride() and 0 not in strides:  # the order in memory decides which kernels compute
            tensor = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)
        return tensor.to(device).requires_grad_(requires_grad)


def _dataset(loading: dict[str, Any], digest: str, rest: dict[str, Any]) -> Dataset:
    """The data set of the job, with the images that this worker's machine has."""
    try:
        loaded = dataset_of(loading)
    except InputError as error:
        raise DataError(f"the data are not there: {error}") from None
    if pixel_digest(loaded) != digest:
        raise DataError(f"{loaded.source} holds other images there than the job has")
    return replace(loaded, **rest)


def pixel_digest(dataset: Dataset) -> str:
    """Of all pixels; of images that stay in their files, of their number and size and of the labels."""
    digest = hashlib.sha256(repr(dataset.images.shape).encode())
    stored = stored_images(dataset.images) is not None
    digest.update(np.ascontiguousarray(dataset.labels if stored else dataset.images).data)
    return digest.hexdigest()
