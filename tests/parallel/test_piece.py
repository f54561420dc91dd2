from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.errors import InputError, SupernetError, UnknownNameError
from supernetic.parallel.failure import Cause
from supernetic.parallel.piece import SHARED_VARIABLE, digest_of, failure_from, keep_shared, read_shared


def test_failures_come_as_texts_and_only_of_our_kinds() -> None:
    failure = failure_from([int(Cause.OURS), "UnknownNameError", "unknown space 'x'", ""])
    assert isinstance(failure.error(), UnknownNameError)
    assert str(failure.error()) == "unknown space 'x'"
    for kind in ("SystemExit", "difflib", "annotations", "no such"):
        error = failure_from([2, kind, "m", "note"]).error()
        assert type(error) is SupernetError
        assert error.__notes__ == ["note"]
    assert isinstance(failure_from([0, "InputError", "m", ""]).error(), InputError)


def test_shared_files_are_checked_by_their_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_VARIABLE, str(tmp_path / "shared"))
    monkeypatch.setattr("supernetic.parallel.piece.SHARED_PATIENCE_S", 0.2)
    digest = digest_of(b"weights")
    with pytest.raises(SupernetError, match="did not arrive"):
        read_shared(digest)
    keep_shared(tmp_path / "shared", digest, b"weights")
    keep_shared(tmp_path / "shared", digest, b"other")  # it is there
    assert read_shared(digest) == b"weights"
    (tmp_path / "shared" / digest).write_bytes(b"damaged")
    with pytest.raises(SupernetError, match="did not arrive at this worker, or not whole"):
        read_shared(digest)
