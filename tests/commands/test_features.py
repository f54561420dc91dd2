from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import supernetic
from supernetic.commands.features import FILES, GAP, TILE, picture
from supernetic.errors import InputError, RunError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("features") / "run"
    supernetic.train("macro:channels=4,resolution=8,head=16", limit=300, steps=2, stabiliser="skip", out=out)
    return str(out)


def test_options_are_compared_and_drawn(run: str, tmp_path: Path) -> None:
    result = supernetic.features(run, layer=2, arch="01210000", images=16, out=tmp_path / "drawings")
    assert (len(result.options), result.images, result.network) == (3, 16, "01210000")
    matrix = np.array(result.similarity)
    assert np.allclose(matrix.diagonal(), 1, atol=1e-3)
    assert np.allclose(matrix, matrix.T, atol=1e-3)
    assert result.angles[0] == 0
    assert all(0 < a <= 180 for a in result.angles[1:])
    assert sorted(p.name for p in (tmp_path / "drawings").iterdir()) == sorted(FILES)
    assert result.options[1] in (tmp_path / "drawings" / "angles.svg").read_text()
    assert result.options[0] in str(result)


def test_a_skip_that_nothing_replaces_is_at_an_angle_too(run: str) -> None:
    assert supernetic.features(run, layer=2, images=16) == supernetic.features(run, layer=2, images=16)
    assert not supernetic.features(run, layer=2, images=16).files


def test_maps_are_tiles_from_black_to_white() -> None:
    ramp = torch.arange(16.0).reshape(1, 1, 4, 4)
    drawn = np.asarray(Image.open(io.BytesIO(picture({"a": ramp, "b": ramp.repeat(1, 3, 1, 1)}, 2))))
    assert drawn.shape == (2 * TILE + GAP, 2 * TILE + GAP)
    assert (drawn[0, 0], drawn[TILE - 1, TILE - 1]) == (0, 255)
    assert (drawn[:TILE, TILE:] == 255).all()  # `a` has one channel
    assert (drawn[TILE + GAP, 0], drawn[TILE + GAP, TILE + GAP]) == (0, 0)


def test_bad_input(run: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="macro has layers 1 to 8, got 9"):
        supernetic.features(run, layer=9)
    with pytest.raises(InputError, match="images must be at least 1, got 0"):
        supernetic.features(run, images=0)
    cells = tmp_path / "cells"
    supernetic.train("nasbench201:cells=1,channels=4,resolution=8", limit=300, steps=1, out=cells)
    with pytest.raises(RunError, match="only a chain of layers"):
        supernetic.features(cells)
