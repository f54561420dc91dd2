"""`convert`: the weights of a released supernet as a run of ours, or one of its networks as a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..datasets import DataLike, source_of
from ..errors import InputError, RunError, UnknownNameError
from ..jobs.train.prepare import full_source
from ..result import Result
from ..runs.directory import open_run
from ..runs.files import SETTINGS, SUPERNET
from ..runs.space_record import space_record

if TYPE_CHECKING:
    from ..supernets.supernet import Supernet

KINDS = ("attentive",)


@dataclass(frozen=True)
class ConvertResult(Result):
    """What was read and where it is: a run with a supernet, or the model directory of one network."""

    path: str
    space: str
    tensors: int
    params: int
    arch: str = ""

    def lines(self) -> list[str]:
        """A summary for people."""
        what = f"{self.arch} of {self.space}" if self.arch else f"a supernet of {self.space}"
        first = f"{what}, {self.tensors:,} tensors and {self.params:,} parameters, is in {self.path}"
        next_step = f"transfer {self.path} DATA" if self.arch else f"train --space {self.space} --start {self.path}"
        return [first, f"supernetic {next_step}"]


def convert(
    kind: str,
    file: str | Path,
    *,
    out: str | Path,
    arch: str | None = None,
    data: DataLike | None = None,
    limit: int | None = None,
) -> ConvertResult:
    """Read the weights of a supernet that others released.

        supernetic.convert("attentive", "attentive_nas.pth", out="runs/attentive")
        supernetic.convert("attentive", "attentive_nas.pth", out="a1", arch="attentive-a1", data="photos/")

    Args:
        kind: Whose supernet it is: `attentive` (AttentiveNAS's public release).
        file: Its state dict. Only tensors are read; a tensor that does not fit is named.
        out: The directory to be made: a run that holds the supernet, or the model directory of one network.
        arch: Take this network out of the supernet, by name or in the paper's notation.
        data: Images on which the BN statistics of that network are computed; their labels are not used.
        limit: Take a subset of this many of them.

    Returns:
        What was read, and where it is.
    """
    from ..pretrained.attentive import convert as read

    if kind not in KINDS:
        raise UnknownNameError("released supernet", kind, KINDS)
    path = Path(out)
    if (arch is None) != (data is None):
        raise InputError("a network needs images for its BN statistics: give arch and data together, or neither")
    if (path / SETTINGS).exists():
        raise RunError(f"{path} is a run already: what is converted needs a directory of its own")
    supernet = read(file)
    tensors, params = len(supernet.state_dict()), sum(p.numel() for p in supernet.parameters())
    if arch is None or data is None:
        _keep_supernet(supernet, path, str(file))
        return ConvertResult(str(path), supernet.space.name, tensors, params)
    return _keep_network(supernet, arch, source_of(data), limit, path)


def _keep_supernet(supernet: Supernet, path: Path, source: str) -> None:
    from ..training.checkpoint import write

    settings = {
        "job": "convert", "space": space_record(supernet.space.name, supernet.space), "seed": 0, "threads": 1,
        "stabiliser": "", "source": source,
    }  # fmt: skip
    with open_run(path, settings) as run:
        write(run.path / SUPERNET, supernet.state_dict(), {})


def _keep_network(supernet: Supernet, arch: str, data: Any, limit: int | None, path: Path) -> ConvertResult:
    from ..costs.macs import cost
    from ..datasets import load
    from ..derivation.derive import derive
    from ..exporters.card import Card
    from ..exporters.model import save_model
    from ..exporters.onnx import have_onnx
    from ..pretrained.attentive import MEAN, STD

    space = supernet.space
    genes = space.parse(arch)
    resolution = space.blueprint(genes).resolution
    dataset = load(
        full_source(data), gray=False, resolution=resolution, limit=limit, normalisation=(MEAN, STD)
    )  # fmt: skip
    network, _ = derive(supernet, genes, dataset, seed=0)
    costs, classes = cost(network.blueprint), network.blueprint.classes
    card = Card(
        name=path.resolve().name,
        task=f"Image classification: {classes} classes, as AttentiveNAS's release has them.",
        classes=tuple(map(str, range(classes))),
        resolution=resolution,
        channels=3,
        mean=MEAN,
        std=STD,
        arch=space.name_of(genes),
        space=space.name,
        macs=costs.macs,
        params=costs.params,
        notes=(f"Weights of AttentiveNAS's released supernet; BN statistics of {dataset.name}.",),
    )
    save_model(path, network, card, onnx=have_onnx())
    return ConvertResult(str(path), space.name, len(network.state_dict()), costs.params, space.name_of(genes))
