"""Progress as people see it, by a clock that the test turns."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

import pytest
from rich.console import Console

from supernetic.cli.display import Display, LineDisplay, LiveDisplay, open_display, show_rate
from supernetic.progress import STEPS, Event

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> StringIO:
    return StringIO()


def live(stream: StringIO, clock: Clock, width: int = 100) -> LiveDisplay:
    return LiveDisplay(Console(file=stream, force_terminal=True, width=width, color_system=None), clock)


def drain(stream: StringIO) -> str:
    """What was written since the last call, without control codes."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    stream.seek(0)
    stream.truncate()
    return text


# --- plain lines ------------------------------------------------------------------------------------------------------


def test_every_remark_is_a_line(stream: StringIO, clock: Clock) -> None:
    with LineDisplay(stream, clock) as on_event:
        on_event(Event("plan", "5 networks"))
        on_event(Event("plan", "train, search", item=STEPS))
        on_event(Event("plan", ""))
    assert drain(stream) == "5 networks\nsteps: train, search\n"


def test_counts_are_told_at_each_tenth(stream: StringIO, clock: Clock) -> None:
    on_event = LineDisplay(stream, clock)
    for done in range(1, 1001):
        clock.wait(0.01)
        on_event(Event("train", "loss 0.3", done=done, total=1000))
    lines = drain(stream).splitlines()
    assert len(lines) == 10
    assert lines[0] == "train: 100 of 1,000, loss 0.3, 100/s, 9 s left"
    assert lines[-1] == "train: 1,000 of 1,000, loss 0.3, 100/s"


def test_slow_counts_are_told_now_and_then(stream: StringIO, clock: Clock) -> None:
    on_event = LineDisplay(stream, clock)
    for done in range(1, 100):  # less than a tenth
        clock.wait(1)
        on_event(Event("compare", item="model-1", done=done, total=1000))
    lines = drain(stream).splitlines()
    assert len(lines) == 4  # one in 20 seconds
    assert lines[0] == "compare model-1: 20 of 1,000, 1/s"  # too early to say how long it will take
    assert lines[1] == "compare model-1: 40 of 1,000, 1/s, 16 min left"


def test_items_are_counted_apart(stream: StringIO, clock: Clock) -> None:
    on_event = LineDisplay(stream, clock)
    for item in ("model-1", "model-2"):
        for done in (1, 2):
            clock.wait(2)
            on_event(Event("compare", item=item, done=done, total=2))
    heads = [line.partition(",")[0] for line in drain(stream).splitlines()]
    assert heads == [f"compare model-{m}: {done} of 2" for m in (1, 2) for done in (1, 2)]


def test_a_resumed_count_is_timed_from_where_it_goes_on(stream: StringIO, clock: Clock) -> None:
    on_event = LineDisplay(stream, clock)
    on_event(Event("train", done=500, total=1000))
    clock.wait(50)
    on_event(Event("train", done=600, total=1000))
    assert drain(stream).splitlines() == [
        "train: 500 of 1,000",
        "train: 600 of 1,000, 2/s, 3 min left",
    ]


def test_a_count_that_goes_back_begins_anew(stream: StringIO, clock: Clock) -> None:
    on_event = LineDisplay(stream, clock)
    on_event(Event("score", done=10, total=10))
    clock.wait(1000)
    on_event(Event("score", done=1, total=10))
    clock.wait(2)
    on_event(Event("score", done=2, total=10))
    assert drain(stream).splitlines()[-1] == "score: 2 of 10, 30/min, 16 s left"


@pytest.mark.parametrize(
    ("rate", "shown"), [(1234.5, "1,234/s"), (12.345, "12.3/s"), (0.05, "3/min"), (0.001, "3.6/h")]
)
def test_rates(rate: float, shown: str) -> None:
    assert show_rate(rate) == shown


# --- a terminal -------------------------------------------------------------------------------------------------------


def test_a_bar_for_each_item_in_work_and_what_comes_next(stream: StringIO, clock: Clock) -> None:
    with live(stream, clock) as on_event:
        on_event(Event("plan", "train, compare, export", item=STEPS))
        on_event(Event("train", "loss 0.31", done=10, total=100))
        clock.wait(10)
        drain(stream)
        on_event(Event("train", "loss 0.30", done=20, total=100))
        picture = drain(stream)
        assert re.search(r"train +[━╸╺]+ +20 of 100 +1/s, 80 s left, loss 0.30", picture)
        assert "next: compare, export" in picture
        clock.wait(10)
        on_event(Event("train", done=100, total=100))
        assert "train: 100 of 100, 4.5/s\n" in drain(stream)
        for item in ("model-1", "model-2"):
            clock.wait(1)
            on_event(Event("compare", item=item, done=1, total=2))
        last = drain(stream).rpartition("compare model-1")[2]
        assert "compare model-2" in last
        assert "next: export" in last
        clock.wait(1)
        on_event(Event("compare", item="model-1", done=2, total=2))
        clock.wait(1)
        drain(stream)
        on_event(Event("compare", item="model-2", done=1, total=2))
        last = drain(stream)
        assert "model-1" not in last
        assert "model-2" in last


def test_a_terminal_is_left_as_it_was_found(stream: StringIO, clock: Clock) -> None:
    def interrupted() -> None:
        with live(stream, clock) as on_event:
            on_event(Event("train", done=1, total=100))
            assert stream.getvalue().count(HIDE_CURSOR) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().rindex(SHOW_CURSOR) > stream.getvalue().rindex(HIDE_CURSOR)
    assert stream.getvalue().endswith("\x1b[2K")  # the bar is taken away


def test_ctrl_c_gives_the_cursor_back() -> None:
    """A process of its own, on a terminal of its own."""
    pty = pytest.importorskip("pty")
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from supernetic.cli.display import open_display; from supernetic.progress import Event\n"
        "with open_display() as on_event:\n"
        "    on_event(Event('train', done=1, total=100)); print('ready', flush=True); signal.pause()"
    )
    here, there = pty.openpty()
    command, terminal = [sys.executable, "-c", code], {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=there, env=terminal) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b""
    os.close(there)
    text = os.read(here, 100_000).decode()
    os.close(here)
    assert 0 <= text.index("1 of 100") < text.rindex(SHOW_CURSOR)
    assert HIDE_CURSOR not in text.rpartition(SHOW_CURSOR)[2]


def test_remarks_stay_above_the_bars_as_they_are(stream: StringIO, clock: Clock) -> None:
    with live(stream, clock, width=40) as on_event:
        on_event(Event("train", done=1, total=100))
        drain(stream)
        text = "photos/[red]/x.png is not an image :smile: " + "x" * 60
        on_event(Event("data", text))
        assert f"{text}\n" in drain(stream)


def test_a_terminal_is_not_drawn_at_every_step(stream: StringIO, clock: Clock) -> None:
    with live(stream, clock) as on_event:
        for done in range(1, 1001):
            clock.wait(0.001)
            on_event(Event("train", done=done, total=1001))
        pictures = drain(stream).count("train ")
    assert 5 <= pictures <= 15


def test_a_training_that_never_ends_leaves_with_its_step(stream: StringIO, clock: Clock) -> None:
    with live(stream, clock) as on_event:
        on_event(Event("plan", "compare, test", item=STEPS))
        on_event(Event("compare", item="diverged", done=1, total=9))
        clock.wait(1)
        drain(stream)
        on_event(Event("test", done=1, total=2))
        assert "diverged" not in drain(stream)
        on_event(Event("test", item="odd", done=1, total=9))
        on_event(Event("test", done=2, total=2))
        on_event(Event("test", done=2, total=2))
        text = drain(stream)
        assert text.count("test: 2 of 2") == 1  # said once
        assert "odd" not in text.rpartition("test: 2 of 2")[2].rpartition("\r")[2]


# --- which of them ----------------------------------------------------------------------------------------------------


@contextmanager
def stderr(stream: StringIO, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", stream)
        yield


def test_the_stream_says_how_progress_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # a wish for colours makes no terminal of a file
    with stderr(StringIO(), monkeypatch):
        assert type(open_display()) is LineDisplay
    with stderr(Terminal(), monkeypatch):
        assert type(open_display()) is LiveDisplay
        assert type(open_display(quiet=True)) is Display
        monkeypatch.setenv("TERM", "dumb")
        assert type(open_display()) is LineDisplay


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with open_display(quiet=True) as on_event:
        on_event(Event("plan", "5 networks"))
        on_event(Event("train", done=1, total=1))
    assert capsys.readouterr() == ("", "")


def test_nothing_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with open_display() as on_event:
        on_event(Event("plan", "5 networks"))
        on_event(Event("train", done=1, total=1))
    assert capsys.readouterr() == ("", "5 networks\ntrain: 1 of 1\n")
