from __future__ import annotations

import os
from pathlib import Path

import pytest

from supernetic import capacity
from supernetic.datasets import memory
from supernetic.datasets.memory import free_memory, memory_limit, parse_size, show_bytes
from supernetic.errors import InputError


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.PARENT_VARIABLE, "")
    monkeypatch.delenv(memory.LIMIT_VARIABLE, raising=False)


def test_a_share_of_what_is_free_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 16 * 10**9)
    limit = memory_limit()
    assert limit.size == 2 * 10**9
    assert limit.reason == "1/8 of 16.0 GB of free memory"


def test_the_user_may_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "1.5G")
    assert memory_limit().size == 1_500_000_000
    assert memory_limit().reason == "set by SUPERNETIC_IMAGE_MEMORY"
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "much")
    with pytest.raises(
        InputError, match="SUPERNETIC_IMAGE_MEMORY must be a number of bytes such as 500M or 4G, got 'm"
    ):
        memory_limit()


def test_worker_processes_decide_as_their_parent_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 8000)
    memory_limit()
    assert os.environ[memory.PARENT_VARIABLE] == f"{os.getpid()}:1000"
    monkeypatch.setattr(memory, "free_memory", lambda: 80)
    assert memory_limit().size == 10  # this is not a process that it has started
    monkeypatch.setenv(memory.PARENT_VARIABLE, f"{os.getppid()}:1000")
    assert memory_limit().size == 1000


def test_a_container_is_allowed_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "CGROUP", tmp_path)
    without = free_memory()
    assert without > 10**7
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert free_memory() == 600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 10**7


def test_sizes_as_text() -> None:
    assert [parse_size("x", t) for t in ("17", "2K", "3 MB", "0.5g", "1TB")] == [17, 2000, 3 * 10**6, 5 * 10**8, 10**12]
    assert [show_bytes(n) for n in (1500, 2.5e6, 3e9, 1.23e12)] == ["1.5 kB", "2.5 MB", "3.0 GB", "1.2 TB"]
