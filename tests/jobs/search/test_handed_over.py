"""What a race calls its networks once it is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.jobs.search.race import Race
from supernetic.runs.records import NetworkRecord

RECORDS = {
    r.name: r
    for r in (
        NetworkRecord("candidate-1", "chosen", arch=(0,), key="a", weights="trained"),
        NetworkRecord("candidate-2", "chosen", arch=(1,), key="b", weights="trained"),
        NetworkRecord("plain", "plain", "candidate-2", label="plain stack of 3x3 convolutions", key="c"),
        NetworkRecord("random-1", "random", "candidate-1", arch=(2,), key="d"),
    )
}


def named(path: Path, kept: list[str], records: dict[str, NetworkRecord] = RECORDS) -> list[NetworkRecord]:
    nothing: Any = None
    return Race(nothing, nothing, 3)._named(path, records, kept)


def test_candidates_that_lost_are_neither_models_nor_controls(tmp_path: Path) -> None:
    found = named(tmp_path, ["plain", "candidate-1"])
    roles = [(r.name, r.role, r.against, r.weights) for r in found]
    assert roles == [
        ("model-1", "chosen", "", "trained"),
        ("model-2", "chosen", "", "trained"),
        ("candidate-2", "candidate", "", ""),
        ("random-1", "random", "model-1", ""),
    ]
    assert [r.name for r in found if r.chosen] == ["model-1", "model-2"]
    assert [r.recommended for r in found] == [True, None, None, None]


@pytest.mark.parametrize("times", [1, 2])
def test_the_supernets_weights_are_found_under_the_new_name(
    tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the step is interrupted and taken again."""
    monkeypatch.setattr(Race, "_better_weights", lambda *_: "inherited")
    (tmp_path / "inherited").mkdir()
    (tmp_path / "inherited" / "candidate-2.safetensors").write_bytes(b"weights")
    records = {"candidate-2": NetworkRecord("candidate-2", "chosen", arch=(1,), inherited_weights=True)}
    for _ in range(times):
        named(tmp_path, ["candidate-2"], records)
    assert (tmp_path / "inherited" / "model-1.safetensors").read_bytes() == b"weights"
