"""torchvision and pycocotools, which detection needs: imported on use."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ..errors import InputError
from ..nn import torchvision_package

PACKAGES = ("torchvision", "pycocotools")
NEEDED = "detection needs torchvision and pycocotools: docs/detection.md says how to install them beside your torch"


def have_detection() -> bool:
    """Whether the packages of the extra `detection` are installed."""
    return all(find_spec(name) for name in PACKAGES)


def require_detection() -> None:
    """Raise an error that says what to install, if they are missing."""
    if not have_detection():
        raise InputError(NEEDED)


def torchvision() -> Any:
    """torchvision, which works beside a CPU build of torch too."""
    require_detection()
    return torchvision_package.torchvision()
