from __future__ import annotations

import subprocess
import sys

import pytest

from supernetic.datasets.augment import parse
from supernetic.datasets.augment_names import AUGMENTATIONS, augment_names
from supernetic.errors import InputError, UnknownNameError


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_every_name_can_be_made(name: str) -> None:
    assert augment_names(name) == [name]
    parse(name)


def test_names_are_joined() -> None:
    assert augment_names("shift+flip") == ["shift", "flip"]
    assert augment_names("") == []


def test_wrong_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'light'"):
        augment_names("ligth")
    with pytest.raises(InputError, match="one policy at a time"):
        augment_names("randaugment+autoaugment-cifar10")
    with pytest.raises(InputError, match="none must stand alone"):
        augment_names("none+flip")


def test_they_are_known_without_torch() -> None:
    code = "import sys, supernetic.datasets.augment_names; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
