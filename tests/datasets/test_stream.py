from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
import torch
from PIL import Image

from supernetic.datasets.dataset import Indices
from supernetic.datasets.image_files import ImageFiles
from supernetic.datasets.stored import StoredImages
from supernetic.datasets.stream import ReadAhead, fetch_all, loaders, read_parts, read_rows
from supernetic.errors import DataError, InputError, SupernetError


@pytest.fixture
def images(tmp_path: Path) -> StoredImages:
    """200 images of one colour each: its number."""
    names = [f"{i:03}.png" for i in range(200)]
    for i, name in enumerate(names):
        Image.new("L", (5, 5), i).save(tmp_path / name)
    return StoredImages.of_files(ImageFiles(str(tmp_path), tuple(names), 5, True))


@pytest.fixture(params=["0", "2"])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("SUPERNETIC_LOADERS", request.param)
    return int(request.param)


def values(read: torch.Tensor) -> list[int]:
    assert read.shape[1:] == (5, 5, 1)
    return [int(image.float().mean()) for image in read]


def process_of(rows: Indices) -> tuple[int, list[int]]:
    return os.getpid(), rows.tolist()


def test_answers_come_in_order_from_other_processes(processes: int) -> None:
    parts = [np.arange(i, i + 3) for i in range(20)]
    answers = list(fetch_all(process_of, parts))
    assert [rows for _, rows in answers] == [part.tolist() for part in parts]
    pids = {pid for pid, _ in answers}
    assert (pids == {os.getpid()}) if processes == 0 else (len(pids) == 2 and os.getpid() not in pids)


def test_parts_may_have_no_end(processes: int) -> None:
    endless = fetch_all(process_of, (np.array([i]) for i in count()))
    assert [rows for _, rows in islice(endless, 9)] == [[i] for i in range(9)]


def test_many_rows(images: StoredImages, processes: int) -> None:
    rows = np.random.default_rng(0).permutation(200)
    assert values(read_rows(images, rows)) == rows.tolist()
    assert values(read_rows(images, rows[:3])) == rows[:3].tolist()


def test_torch_draws_the_same_numbers_whether_or_not_images_are_read(images: StoredImages, processes: int) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(read_parts(images, [np.arange(4), np.arange(4)]))
    assert torch.equal(torch.rand(3), expected)


def test_a_file_that_is_gone_is_one_clear_line(images: StoredImages, processes: int) -> None:
    images.files.path(7).unlink()
    with pytest.raises(DataError, match=r"^\S+007\.png does not exist$"):
        list(read_parts(images, [np.arange(4), np.arange(4, 8)]))


class Steps:
    """Rows of each step, and which steps were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, step: int) -> Indices:
        self.asked.append(step)
        return np.arange(step, step + 2) % 200


def test_any_step_at_any_time_and_consecutive_ones_ahead(images: StoredImages, processes: int) -> None:
    steps = Steps()
    ahead = ReadAhead(images, steps)
    assert values(ahead.read(50)) == [50, 51]
    assert steps.asked == [50]  # a single step is read here: nobody may want the next one
    for step in (51, 52, 53, 7, 8, 9, 8, 100, 198, 199):
        assert values(ahead.read(step)) == [step % 200, (step + 1) % 200]
    if processes:
        assert steps.asked.count(54) == 1  # it was read ahead, and never wanted


def test_a_large_batch_is_read_by_all_processes(images: StoredImages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_LOADERS", "2")
    ahead = ReadAhead(images, lambda step: np.arange(step, step + 150) % 200)
    for step in (30, 31, 7):
        assert values(ahead.read(step)) == [i % 200 for i in range(step, step + 150)]
        assert len(children()) >= 2


def test_processes_end_with_the_reader(images: StoredImages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_LOADERS", "2")
    others = children()
    ahead = ReadAhead(images, Steps())
    for step in range(3):
        ahead.read(step)
    mine = children() - others
    assert len(mine) >= 2
    del ahead
    until = monotonic() + 60
    while mine & children() and monotonic() < until:
        sleep(0.05)
    assert not mine & children()


def children() -> set[int]:
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(pid) for pid, state in rows if not state.startswith("Z")}


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_processes_end_soon_after_a_kill(tmp_path: Path) -> None:
    """They hold the locks of the process that was killed, and that may be started again at once."""
    code = (
        "import numpy as np, os, time; from supernetic.datasets.stream import fetch_all\n"
        "answers = fetch_all(lambda rows: os.getpid(), (np.array([i]) for i in range(10**9)))\n"
        "print(*{next(answers) for _ in range(40)}, flush=True); time.sleep(100)"
    )
    environment = {**os.environ, "SUPERNETIC_LOADERS": "2"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        process.send_signal(signal.SIGKILL)
    until = monotonic() + 30
    while any(map(lives, pids)) and monotonic() < until:
        sleep(0.05)
    assert not any(map(lives, pids))


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_is_killed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_LOADERS", "1")

    def suicide(rows: Indices) -> int:
        if rows[0] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return int(rows[0])

    def parts() -> Iterator[Indices]:
        yield from (np.array([i]) for i in range(9))

    with pytest.raises(SupernetError, match=r"a process that reads images has ended: .*SUPERNETIC_LOADERS=0 does with"):
        list(fetch_all(suicide, parts()))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_LOADERS", "3")
    assert loaders() == 3
    monkeypatch.setenv("SUPERNETIC_LOADERS", "many")
    with pytest.raises(InputError, match="SUPERNETIC_LOADERS must be a number of processes, got 'many'"):
        loaders()
    monkeypatch.delenv("SUPERNETIC_LOADERS")
    monkeypatch.setattr("supernetic.datasets.stream.sys.platform", "darwin")
    assert loaders() == 0
