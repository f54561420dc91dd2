"""timm (PyTorch Image Models), imported on use, and how its networks are named here.

    timm:resnet18           with the weights that timm has for it, downloaded once or from its cache
    timm:resnet18@fresh     with random ones

`pretrained.timm_models` puts such a network into our layers, `networks.baselines` trains it as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from torch import nn

from ..errors import InputError
from .torchvision_package import torchvision

PREFIX, FRESH = "timm:", "fresh"
NEEDED = "needs timm, which is not installed: pip install 'supernetic[timm]'"


def have_timm() -> bool:
    """Whether timm is installed."""
    return find_spec("timm") is not None


def timm() -> Any:
    """timm, whose own imports work beside a CPU build of torch too."""
    torchvision()
    import timm

    return timm


def is_fresh(text: str) -> bool:
    """Whether a text asks for random weights."""
    return text.endswith(f"@{FRESH}")


def create(
    name: str, *, pretrained: bool, advice: str = f"begin with random ones (@{FRESH})", **options: Any
) -> nn.Module:
    """A network of timm's.

    Args:
        name: As timm has it, without a prefix.
        pretrained: Whether it gets the weights that timm has for it; else they are random.
        advice: What else to do where these weights cannot be had.
        options: For timm's `create_model`.

    Returns:
        The network.
    """
    package = timm()
    try:
        with _quiet_hub():
            network: nn.Module = package.create_model(name, pretrained=pretrained, **options)
    except Exception as error:  # of the network, of the hub, of timm
        why = " ".join(str(error).split())[:160]
        if pretrained and package.is_model(name.partition(".")[0]):
            raise InputError(f"the weights of {PREFIX}{name} cannot be had: {advice} ({why})") from None
        raise InputError(f"{PREFIX}{name} cannot be built ({why})") from None
    return network


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """The hub tells of every attempt to reach it; one error at the end is enough."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
