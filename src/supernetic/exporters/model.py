"""A finished network as a directory that can be used without the supernet it came from.

    model.safetensors   the weights
    model.json          blueprint, preprocessing, classes, settings, metrics, and the SHA-256 of every file
    model.onnx          the same network for onnxruntime
    model.int8.onnx     the same in 8-bit integers
    model.pt2           the same for torch.export, if it was asked for
    config.json         what timm reads of a directory of its own (`timm_registry`)
    labels.txt          the classes, one per line, in the order of the logits
    README.md           all of it in words

The directory appears whole or not at all; equal networks and cards give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from .. import __version__
from ..blueprint import Blueprint
from ..errors import InputError, RunError
from ..nn.network import Network, with_weights
from ..reading import exists, parse_json, read_bytes, reason
from ..runs.directory import DAMAGE, TEMPORARY, temporary_name
from ..runs.durable import sync_appended, sync_directory
from ..runs.files import MODEL_CONFIG, MODEL_INT8, MODEL_PROGRAM
from ..runs.records import MetricValues, int8_of
from ..runs.trust import require_name
from .card import Card, page
from .int8 import Int8
from .onnx import INPUT, OUTPUT, require_onnx, write_onnx
from .program import program_of

FORMAT = 1
MAX_RESOLUTION = 4096  # pixels; a received card must not make `predict` fill the memory
WEIGHTS, RECORD, ONNX, LABELS, README = "model.safetensors", "model.json", "model.onnx", "labels.txt", "README.md"
INT8, PROGRAM, CONFIG = MODEL_INT8, MODEL_PROGRAM, MODEL_CONFIG
FILES = {WEIGHTS, RECORD, ONNX, INT8, PROGRAM, CONFIG, LABELS, README}
TIMM_NAME = "supernetic_network"  # of all our networks in timm's registry
SIZES = ("bytes", "float_bytes")  # what `model.json` says about the quantised file beside what was measured


def save_model(
    directory: Path,
    network: Network,
    card: Card,
    *,
    onnx: bool = True,
    int8: Int8 | None = None,
    program: bool = False,
) -> dict[str, Any]:
    """Write a model directory, unless it holds this very model already.

    Args:
        directory: Where to write it.
        network: The network.
        card: What is said about it.
        onnx: Whether to write an ONNX file too.
        int8: The same network quantised, if there is to be a file of that too.
        program: Whether to write a file for torch.export too.

    Returns:
        The content of `model.json`.
    """
    _check(network, card)
    if onnx:
        require_onnx()
    tensors = {n: t.detach().cpu().contiguous() for n, t in network.state_dict().items()}
    weights = save(tensors, {"format": "pt"})
    record: dict[str, Any] = {
        "format": FORMAT,
        "supernetic": __version__,
        **card.to_json(),
        "blueprint": [{**layer._asdict(), "inputs": list(layer.inputs)} for layer in network.blueprint],
    }
    known = _there(directory, record, weights, onnx, int8, program)
    with _errors(directory):
        place = directory.resolve()
        temporary, old = temporary_name(place), _old(place)
        sync_appended()
        remove_temporary_directories(place)
        try:
            if known is None:
                temporary.mkdir(parents=True)
                known = _fill(temporary, network, card, weights, record, onnx, int8, program)
                if place.exists():
                    shutil.rmtree(old, ignore_errors=True)
                    os.replace(place, old)
                os.replace(temporary, place)
                sync_directory(place.parent)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return known


def _fill(
    directory: Path,
    network: Network,
    card: Card,
    weights: bytes,
    record: dict[str, Any],
    onnx: bool,
    int8: Int8 | None,
    program: bool,
) -> dict[str, Any]:
    """Write all files; the record is completed and returned."""
    deviation = (
        write_onnx(network, directory / ONNX, channels=card.channels, resolution=card.resolution) if onnx else None
    )
    facts = None if int8 is None else _with_sizes(directory, int8)
    if int8 is not None:
        _put(directory / INT8, int8.data)
    if program:
        _put(directory / PROGRAM, program_of(network, channels=card.channels, resolution=card.resolution))
    _put(directory / CONFIG, (json.dumps(_config(card, network), indent=1) + "\n").encode())
    labels = "".join(f"{' '.join(name.split())}\n" for name in card.classes)
    _put(directory / WEIGHTS, weights)
    _put(directory / LABELS, labels.encode(errors="replace"))  # names of folders need not be valid text
    _put(directory / README, page(card, deviation, facts).encode())
    whole = {
        **record,
        "onnx": None if deviation is None else {"input": INPUT, "output": OUTPUT, "deviation": deviation},
        "int8": facts,
        "sha256": {p.name: _digest(p.read_bytes()) for p in sorted(directory.iterdir())},
    }
    whole["sha256"][RECORD] = _own_digest(whole)
    _put(directory / RECORD, (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode())
    if onnx:
        _sync(directory / ONNX)
    _sync(directory)
    return whole


def _config(card: Card, network: Network) -> dict[str, Any]:
    """What timm wants to know of a model in a directory; the network itself is in `model.json`."""
    return {
        "architecture": TIMM_NAME,
        "num_classes": network.blueprint.classes,
        "num_features": network.num_features,
        "pretrained_cfg": {
            "input_size": [card.channels, card.resolution, card.resolution],
            "fixed_input_size": True,
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "crop_mode": "center",
            "mean": list(card.mean),
            "std": list(card.std),
            "num_classes": network.blueprint.classes,
            "label_names": list(card.classes),
        },
    }


def _with_sizes(directory: Path, int8: Int8) -> dict[str, float | None]:
    """What was measured, and the sizes of the files."""
    floats = {"float_bytes": (directory / ONNX).stat().st_size} if (directory / ONNX).exists() else {}
    return {**int8.facts, "bytes": len(int8.data), **floats}


def _without_sizes(record: dict[str, Any], directory: Path) -> MetricValues:
    return {k: v for k, v in (int8_of(record, directory / RECORD) or {}).items() if k not in SIZES}


def _untimed(facts: MetricValues) -> MetricValues:
    return {k: v for k, v in facts.items() if not k.startswith("latency/")}


def read_int8(path: str | PathLike[str]) -> Int8 | None:
    """The quantised network of a model directory, after all files were checked; None if it has none."""
    directory = Path(path)
    record = verify(directory)
    if INT8 not in record["sha256"]:
        return None
    return Int8(_verified(directory, record, INT8), _without_sizes(record, directory))


def load_model(path: str | PathLike[str]) -> Network:
    """The network of a model directory. All files are checked against their checksums first.

    Args:
        path: The model directory.

    Returns:
        A torch module in evaluation mode: `network(images) -> logits`.
    """
    directory = Path(path)
    record = verify(directory)
    try:
        return with_weights(Blueprint.from_json(record["blueprint"]), load(_verified(directory, record, WEIGHTS)))
    except (*DAMAGE, RuntimeError, SafetensorError) as error:
        raise RunError(f"{directory} holds no network that fits its description: {_line(error)}") from None


def verify(path: str | PathLike[str]) -> dict[str, Any]:
    """The content of `model.json`, after every file has been checked against its checksum there."""
    directory = Path(path)
    record = read_record(directory)
    for name in _digests(directory, record):
        if name not in FILES:
            raise RunError(f"{directory / RECORD} lists {name!r}: a model consists of {', '.join(sorted(FILES))}")
        if name != RECORD:
            _verified(directory, record, name)
    return record


def _verified(directory: Path, record: dict[str, Any], name: str) -> bytes:
    """The content of a file, checked as it is read: it may have been another one when all files were checked."""
    data = _read(directory / name)
    if _digest(data) != record["sha256"][name]:
        raise RunError(f"{directory / name} was changed after it was written: its checksum does not match")
    return data


def _digests(directory: Path, record: dict[str, Any]) -> dict[str, Any]:
    digests = record["sha256"]
    if not isinstance(digests, dict) or not {WEIGHTS, RECORD} <= digests.keys():
        raise RunError(f"{directory / RECORD}: sha256 must be a table of files, {WEIGHTS} among them")
    return digests


def read_card(path: str | PathLike[str]) -> Card:
    """What a model directory says about its model.

    Args:
        path: The model directory.

    Returns:
        The card.
    """
    record = read_record(path)
    require_name(record.get("name"), f"the name in {Path(path) / RECORD}")
    try:
        card = Card.from_json(record)
        card.check(MAX_RESOLUTION)
        return card
    except DAMAGE as error:
        raise RunError(f"{Path(path) / RECORD} lacks something, or has it wrong: {_line(error)}") from None


def read_record(path: str | PathLike[str]) -> dict[str, Any]:
    """The content of `model.json`, checked against its checksum."""
    directory = Path(path)
    file = directory / RECORD
    if not (exists(directory) and directory.is_dir()):
        old = _old(directory.resolve())
        hint = f"; a save was interrupted, what it was to replace is {old}" if is_model(old) else ""
        raise RunError(f"{directory} is not a model: there is no such directory{hint}")
    if not file.exists():
        inside = sorted(p.parent.name for p in directory.glob(f"models/*/{RECORD}"))
        hint = f"; it is a run with the models {', '.join(f'models/{n}' for n in inside)}" if inside else ""
        raise RunError(f"{directory} is not a model: it has no {RECORD}{hint}")
    try:
        record = parse_json(_read(file))
        version, digest = record["format"], record["sha256"][RECORD]
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{file} does not describe a model of supernetic, or is damaged") from None
    if version != FORMAT:
        raise RunError(f"{file} has the format {version}, supernetic {__version__} reads {FORMAT}")
    if digest != _own_digest(record):
        raise RunError(f"{file} was changed after it was written: its checksum does not match")
    checked: dict[str, Any] = record
    return checked


def is_model(path: str | PathLike[str]) -> bool:
    """Whether there is a model at this path."""
    return exists(Path(path) / RECORD)


def _check(network: Network, card: Card) -> None:
    blueprint = network.blueprint
    for what, ours, theirs, fits in (
        (
            "classes",
            blueprint.classes,
            len(card.classes),
            blueprint.classes >= len(card.classes),
        ),  # spaces may have more
        ("channels", blueprint.in_channels, card.channels, blueprint.in_channels == card.channels),
        ("pixels a side", blueprint.resolution, card.resolution, blueprint.resolution == card.resolution),
    ):
        if not fits:
            raise InputError(f"the model {card.name}: the network has {ours} {what}, its card says {theirs}")


def _there(
    directory: Path, record: dict[str, Any], weights: bytes, onnx: bool, int8: Int8 | None, program: bool
) -> dict[str, Any] | None:
    """The record of the directory, if it holds this very model whole; refuses a directory of something else."""
    if not directory.exists():
        return None
    with _errors(directory):
        names = {p.name for p in directory.iterdir()}
    if names - FILES or (names and RECORD not in names):
        other = sorted(names - FILES) or sorted(names)
        raise RunError(f"{directory} holds other files, such as {other[0]}: a model needs a directory of its own")
    try:
        present = verify(directory)
    except RunError:  # damaged: it is written anew
        return None
    same = all(present.get(k) == v for k, v in record.items()) and present["sha256"][WEIGHTS] == _digest(weights)
    same = same and (present["onnx"] is not None) >= onnx and _has_int8(directory, present, int8)
    same = same and CONFIG in present["sha256"] and (PROGRAM in present["sha256"]) >= program
    return present if same else None


def _has_int8(directory: Path, present: dict[str, Any], int8: Int8 | None) -> bool:
    """Whether a model has this quantised file and says the same of it, but for times; if none is given, any will do."""
    if int8 is None:
        return True
    same = present["sha256"].get(INT8) == _digest(int8.data)
    return same and _untimed(_without_sizes(present, directory)) == _untimed(int8.facts)


def remove_temporary_directories(directory: Path) -> None:
    """Remove what saves of this model that were killed have left beside it."""
    for path in directory.parent.glob(".*.tmp"):
        match = TEMPORARY.fullmatch(path.name)
        if match and match["name"] == directory.name and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # which leaves links alone


def _old(directory: Path) -> Path:
    """Where a directory is for the moment in which another takes its place."""
    return directory.with_name(f".{directory.name}.old")


def _put(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    """Bring a file, or the entries of a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _own_digest(record: dict[str, Any]) -> str:
    """That of the record without this very entry."""
    rest = {**record, "sha256": {k: v for k, v in record["sha256"].items() if k != RECORD}}
    return _digest(json.dumps(rest, sort_keys=True).encode())


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@contextmanager
def _errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"the model directory {directory} cannot be written: {error.strerror or error}") from None
