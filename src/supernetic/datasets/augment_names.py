"""Names of augmentations, without torch: a wrong one is told before that is imported."""

from __future__ import annotations

from ..errors import InputError, UnknownNameError

NONE = "none"
INCEPTION = "inception"
POLICIES = ("autoaugment-cifar10", "autoaugment-imagenet", "randaugment")
CROPS = ("zoom", "crop", INCEPTION)
AUGMENTATIONS = (NONE, "light", "shift", "flip", *CROPS, "cutout", *POLICIES)


def augment_names(text: str) -> list[str]:
    """Names joined by `+`, each of them known, and together possible."""
    names = [name for name in text.split("+") if name]
    for name in names:
        if name not in AUGMENTATIONS:
            raise UnknownNameError("augmentation", name, AUGMENTATIONS)
    policies = [name for name in names if name in POLICIES]
    if len(policies) > 1:
        raise InputError(f"one policy at a time, got {' and '.join(policies)}")
    crops = [name for name in names if name in CROPS]
    if len(crops) > 1:
        raise InputError(f"one crop at a time, got {' and '.join(crops)}")
    if NONE in names and len(names) > 1:
        raise InputError(f"{NONE} must stand alone, got {text}")
    return names
