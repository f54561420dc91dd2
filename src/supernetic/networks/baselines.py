"""A network of the user's own, for comparison: a Python file with a function `build(classes, in_channels, resolution)`.

    def build(classes, in_channels, resolution):
        return nn.Sequential(...)

The file is run from its text, which is part of the comparison's records; one that imports its neighbours is not
supported. `FILE.py:wide` is another function of the file, `wide`.
`timm:NAME` is a pretrained model of timm, where that is installed; `timm:NAME@fresh` has random weights.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, RunError
from ..nn.counting import counted
from ..nn.run import NO_REGULARISATION, Regularisation
from ..nn.timm_package import FRESH, NEEDED, PREFIX, create, have_timm
from ..runs.trust import current_policy, digest_of, name_code, read_code, require_trust

BUILD_FUNCTION = "build"


class Wrapped(nn.Module):
    """Any module, in the form in which networks are trained here; what a recipe drops is its own affair."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Logits of a batch of images."""
        logits: Tensor = self.inner(x)
        return logits


@dataclass(frozen=True)
class Baseline:
    """What is needed to build the network anywhere."""

    source: str  # the file's name, `timm:NAME` or `timm:NAME@fresh`
    text: str  # of the file
    classes: int
    in_channels: int
    resolution: int
    function: str = BUILD_FUNCTION  # of the file

    def build(self, seed: int = 0) -> Wrapped:
        """The network, with the weights that it gives itself from this seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inner = _from_timm(self) if self.source.startswith(PREFIX) else _from_text(self)
        if not isinstance(inner, nn.Module):
            rule = f"{self.function} must return a torch.nn.Module"
            raise InputError(f"{self.source}: {rule}, got {type(inner).__name__}")
        self._try_out(inner)
        return Wrapped(inner)

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters), of matrix products and convolutions as torch counts them."""
        return counted(self.build(), self.in_channels, self.resolution)

    def record(self) -> dict[str, Any]:
        """For a run's settings: a file by its text and digest, whatever it is called."""
        record = {**asdict(self), "sha256": self.sha256}
        if self.function == BUILD_FUNCTION:
            del record["function"]
        return record if self.source.startswith(PREFIX) else {**record, "source": ""}

    @property
    def sha256(self) -> str:
        """Digest of its code: of the file's text, or of the name for timm."""
        return digest_of(self.source if self.source.startswith(PREFIX) else self.text)

    def _try_out(self, network: nn.Module) -> None:
        """Refuse what cannot be trained here, before anything is."""
        shape = (2, self.in_channels, self.resolution, self.resolution)
        mode = network.training
        try:
            with torch.no_grad():
                logits = network.eval()(torch.zeros(shape))
        except Exception as error:
            raise InputError(f"{self.source}: the network cannot take images of {shape}: {error}") from None
        output = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        if output != (2, self.classes):
            raise InputError(f"{self.source}: the network must give logits of (2, {self.classes}), got {output}")
        if not any(p.requires_grad for p in network.parameters()):
            raise InputError(f"{self.source}: the network has nothing to train")
        places = [t.untyped_storage().data_ptr() for t in network.state_dict().values() if t.numel()]
        if len(set(places)) < len(places):
            raise InputError(f"{self.source}: two tensors of the network share memory, which cannot be stored")
        network.train(mode)


def baseline(source: str | Path, classes: int, in_channels: int, resolution: int) -> Baseline:
    """Read a baseline and build it once, so that a bad one is refused at once.

    One that a run names needs trust; timm's models are downloaded, and can be anyone's.

    Args:
        source: A file, `FILE.py:FUNCTION`, `timm:NAME` or `timm:NAME@fresh`.
        classes: Number of classes.
        in_channels: Of the images.
        resolution: Of the images.

    Returns:
        The baseline.
    """
    name = str(source)
    if name.startswith(PREFIX):
        network = Baseline(name, "", classes, in_channels, resolution)
        if current_policy().received is not None:
            require_trust(name, network.sha256)
        name_code(name)
    else:
        head, _, last = name.rpartition(":")
        file, function = (head, last) if head.endswith(".py") else (name, BUILD_FUNCTION)
        network = Baseline(Path(file).name, read_code(file), classes, in_channels, resolution, function)
    network.build()
    return network


def from_record(record: Mapping[str, Any]) -> Baseline:
    """The baseline of a run's settings, which needs trust unless this call names the same code."""
    values = {k: v for k, v in record.items() if k != "sha256"}
    network = Baseline(**{**values, "source": record["source"] or "baseline.py"})
    if record.get("sha256") != network.sha256:
        raise RunError(f"the text of the baseline {network.source} was changed: its sha256 is {network.sha256[:16]}")
    require_trust(f"the baseline {network.source}", network.sha256)
    return network


def _from_text(baseline: Baseline) -> Any:
    module = ModuleType("supernetic_baseline")
    sys.modules[module.__name__] = module  # dataclasses look there for the module of a class
    try:
        exec(compile(baseline.text, baseline.source, "exec"), module.__dict__)
        build = getattr(module, baseline.function, None)
        if not callable(build):
            name = f"{baseline.function}(classes, in_channels, resolution)"
            raise InputError(f"{baseline.source}: a baseline has a function {name}")
        return build(classes=baseline.classes, in_channels=baseline.in_channels, resolution=baseline.resolution)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == baseline.source]
        line = lines[-1] if lines else getattr(error, "lineno", "?")
        raise InputError(f"{baseline.source} line {line}: {type(error).__name__}: {error}") from None


def _from_timm(baseline: Baseline) -> nn.Module:
    name, at, weights = baseline.source.removeprefix(PREFIX).partition("@")
    if not have_timm():
        raise InputError(f"the baseline {baseline.source} {NEEDED}")
    if at and weights != FRESH:
        raise InputError(f"the baseline {baseline.source}: what follows @ must be {FRESH}, got {weights!r}")
    return create(name, pretrained=not at, num_classes=baseline.classes, in_chans=baseline.in_channels)
