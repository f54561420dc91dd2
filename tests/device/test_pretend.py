"""The pretend device itself: were it to let everything pass, the jobs on it would prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

REFUSED = {
    "mixed": "aten::add: some tensors are on the pretend device, others on the CPU",
    "mixed weights": "others on the CPU",
    "cpu batch": "others on the CPU",
    "generator": "a generator of the CPU",
    "index": "indices or values on the pretend device for a tensor on the CPU",
    "index_select": "others on the CPU",
    "numpy": "has no numpy array",
    "asarray": "has no numpy array",
}


@pytest.fixture(scope="module")
def found(script: Callable[..., Any]) -> dict[str, Any]:
    answer: dict[str, Any] = script("refusals.py")
    return answer


@pytest.mark.parametrize("action", REFUSED)
def test_what_a_gpu_refuses_is_refused(action: str, found: dict[str, Any]) -> None:
    assert found["refused"][action].startswith("WrongDevice: ")
    assert REFUSED[action] in found["refused"][action]


def test_nothing_else_was_tried(found: dict[str, Any]) -> None:
    assert found["refused"].keys() == REFUSED.keys()


def test_what_a_gpu_allows_is_allowed(found: dict[str, Any]) -> None:
    assert len(found["allowed"]) == 5
    assert set(found["allowed"].values()) == {""}


def test_tensors_say_where_they_are(found: dict[str, Any]) -> None:
    assert found["where"] == ["pretend:0", "pretend:0", "cpu"]


def test_a_network_learns_the_same_there(found: dict[str, Any]) -> None:
    here, there = found["losses"]
    assert there == pytest.approx(here, rel=1e-5)


def test_waiting_for_the_device_is_noticed(found: dict[str, Any]) -> None:
    """For a number, for values, and for the size of what a mask selects; not for arithmetic."""
    assert found["waits"] == ["aten::_local_scalar_dense", "aten::_to_copy", "aten::index"]
