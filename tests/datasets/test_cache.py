from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.datasets.cache import cached, directory
from supernetic.datasets.dataset import Images

IMAGES = np.arange(96, dtype=np.uint8).reshape(2, 4, 4, 3)


class Decoder:
    calls = 0

    def __call__(self) -> Images:
        self.calls += 1
        return IMAGES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def test_decoded_once_per_content(place: Path) -> None:
    decode = Decoder()
    for _ in range(3):
        assert np.array_equal(cached([b"one", b"two"], decode), IMAGES)
    assert decode.calls == 1
    cached([b"onetw", b"o"], decode)
    assert decode.calls == 2
    assert len(list(place.iterdir())) == 2  # no temporary files


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign"])
def test_a_damaged_cache_is_decoded_again_and_mended(place: Path, damage: str) -> None:
    decode = Decoder()
    cached([b"x"], decode)
    (path,) = place.iterdir()
    whole = path.read_bytes()
    at = whole.index(IMAGES.tobytes()) + 5
    broken = {
        "empty": b"",
        "short": whole[:-30],
        "flipped": whole[:at] + b"\xff" + whole[at + 1 :],
        "foreign": b"hello",
    }
    path.write_bytes(broken[damage])
    assert np.array_equal(cached([b"x"], decode), IMAGES)
    assert decode.calls == 2
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "file"))
    assert np.array_equal(cached([b"x"], Decoder()), IMAGES)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(np, "savez", full)
    assert np.array_equal(cached([b"x"], Decoder()), IMAGES)
    assert list((tmp_path / "other").iterdir()) == []


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUPERNETIC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert directory() == Path("/somewhere/supernetic")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert directory() == Path("/local/supernetic")
    monkeypatch.delenv("LOCALAPPDATA")
    assert directory() == Path.home() / ".cache" / "supernetic"
