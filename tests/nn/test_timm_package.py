from __future__ import annotations

from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.nn.timm_package import create, have_timm, is_fresh, timm

needs_timm = pytest.mark.skipif(not have_timm(), reason="timm is not installed")


def test_fresh_networks_are_named() -> None:
    assert is_fresh("timm:resnet18@fresh")
    assert not is_fresh("timm:resnet18")
    assert not is_fresh("timm:resnet18@fresh.pth")


@needs_timm
def test_fresh_networks_need_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    made = timm().create_model

    def watched(name: str, pretrained: bool, **options: Any) -> Any:
        asked[name] = pretrained
        return made(name, pretrained=pretrained, **options)

    monkeypatch.setattr(timm(), "create_model", watched)
    network = create("mobilenetv2_035", pretrained=False, num_classes=4)
    assert asked == {"mobilenetv2_035": False}
    assert network.num_classes == 4


@needs_timm
def test_weights_that_cannot_be_had_are_told_from_networks_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str, **options: Any) -> None:
        raise OSError("no\nhub")

    with pytest.raises(InputError, match=r"^timm:none cannot be built \(Unknown model"):
        create("none", pretrained=True)
    monkeypatch.setattr(timm(), "create_model", unreachable)
    with pytest.raises(InputError, match=r"^the weights of timm:resnet18 cannot be had: .*\(@fresh\) \(no hub\)$"):
        create("resnet18", pretrained=True)
    with pytest.raises(InputError, match=r"^timm:resnet18 cannot be built \(no hub\)$"):
        create("resnet18", pretrained=False)
