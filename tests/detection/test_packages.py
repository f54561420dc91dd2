"""What detection needs."""

import pytest

from supernetic.detection import packages
from supernetic.errors import InputError


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    assert not packages.have_detection()
    with pytest.raises(InputError, match="detection needs torchvision and pycocotools"):
        packages.torchvision()
