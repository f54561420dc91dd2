"""How the progress of a job is shown on stderr: bars on a terminal, plain lines elsewhere, nothing with `--quiet`.

    with open_display() as on_event:
        result = search("photos/", on_event=on_event)

A count is shown with its rate and the time left. Both are measured from the count's first event on, so that a resumed
task does not take credit for what was done before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import IO, TYPE_CHECKING

from ..parallel.workers import cluster_size
from ..progress import STEPS, Event
from ..text import duration, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

PROGRESS_INTERVAL_S = 20.0  # between two plain lines about counts, unless a count reaches its next tenth
REFRESH_INTERVAL_S = 0.1  # between two pictures on a terminal
MINIMUM_SHARE = 0.02  # of a count: before that, nothing is said about the time left
BAR_WIDTH = 24  # characters

Clock = Callable[[], float]  # seconds


@dataclass
class Count:
    """One count of a job, and how fast it grows."""

    event: Event  # the latest
    began: float  # clock at the first event
    first: int  # done at the first event
    tenth: int = 0  # the last one that was told

    @property
    def name(self) -> str:
        """The task, and the item that the count is about."""
        return f"{self.event.task} {self.event.item}".strip()

    @property
    def is_finished(self) -> bool:
        """Whether all is done."""
        return self.event.done >= self.event.total

    def rate(self, now: float) -> float | None:
        """Done per second, once there is something to measure."""
        grown, seconds = self.event.done - self.first, now - self.began
        return grown / seconds if grown > 0 and seconds > 0 else None

    def seconds_left(self, now: float) -> float | None:
        """Until all is done, once enough is done to tell."""
        rate, left = self.rate(now), self.event.total - self.event.done
        early = self.event.done - self.first < MINIMUM_SHARE * (self.event.total - self.first)
        return None if rate is None or early or left <= 0 else left / rate

    def remarks(self, now: float) -> list[str]:
        """Rate and time left, as far as they are known, and the workers of a cluster."""
        rate, left = self.rate(now), self.seconds_left(now)
        return [
            *([] if rate is None else [show_rate(rate)]),
            *([] if left is None else [f"{duration(left)} left"]),
            *([] if (there := cluster_size()) is None else [f"{there:,} worker{'s' * (there != 1)}"]),
        ]

    def line(self, now: float) -> str:
        """All of it in one line."""
        return ", ".join([str(self.event), *self.remarks(now)])


def show_rate(per_second: float) -> str:
    """`85/s`; slow ones per minute or per hour."""
    for factor, unit in ((1, "s"), (60, "min")):
        if per_second * factor >= 1:
            return f"{_three_digits(per_second * factor)}/{unit}"
    return f"{_three_digits(per_second * 3600)}/h"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class Display:
    """Receives events and shows none of them, as `--quiet` wants it; the base of those that do."""

    def __call__(self, event: Event) -> None:
        """Take notice of an event."""

    def close(self) -> None:
        """Leave the stream as it was found."""

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LineDisplay(Display):
    """Plain lines: every remark, and counts now and then."""

    def __init__(self, stream: IO[str], clock: Clock = monotonic) -> None:
        """Lines go to `stream`; `clock` tells seconds."""
        self.stream, self.clock = stream, clock
        self.counts: dict[tuple[str, str], Count] = {}
        self.last = clock()  # when a count was shown

    def __call__(self, event: Event) -> None:
        """Print a line if it is time for one."""
        if not event.total:
            self.show(remark(event))
            return
        now = self.clock()
        count = self.follow(event, now)
        tenth = 10 * event.done // event.total
        if tenth > count.tenth or now - self.last >= PROGRESS_INTERVAL_S:
            count.tenth, self.last = max(tenth, count.tenth), now
            self.show_count(count, now)

    def follow(self, event: Event, now: float) -> Count:
        """The count that an event is about, brought up to date; one that went back begins anew."""
        key = event.task, event.item
        count = self.counts.get(key)
        if count is None or event.done < count.event.done:
            count = self.counts[key] = Count(event, now, event.done)
        count.event = event
        return count

    def show(self, text: str) -> None:
        """A line of its own."""
        if text:
            print(printable(text), file=self.stream, flush=True)

    def show_count(self, count: Count, now: float) -> None:
        """A line about a count."""
        self.show(count.line(now))


class LiveDisplay(LineDisplay):
    """For a terminal: remarks above, below them a bar for each count in work, and what comes next.

    Nothing is drawn between events: there is no thread that could disturb worker processes or outlive an interruption.
    """

    def __init__(self, console: Console, clock: Clock = monotonic) -> None:
        """The picture goes to `console`; `clock` tells seconds."""
        super().__init__(console.file, clock)
        self.console = console
        self.live: Live | None = None
        self.steps: tuple[str, ...] = ()  # of the job, in order
        self.drawn = -REFRESH_INTERVAL_S

    def __call__(self, event: Event) -> None:
        """Print a remark, or draw the counts anew."""
        if is_plan(event):
            self.steps = tuple(step.strip() for step in event.text.split(","))
        if not event.total:
            self.show(remark(event))
            return
        now = self.clock()
        count = self.follow(event, now)
        self._leave_earlier_steps(event.task)
        if count.is_finished and count.tenth < 10:
            self._finish(count, now)
        elif now - self.drawn >= REFRESH_INTERVAL_S:
            self._draw(now)

    def show(self, text: str) -> None:
        """A line above the bars."""
        if text:
            self.console.print(printable(text), markup=False, highlight=False, emoji=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bars away and give the cursor back."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _finish(self, count: Count, now: float) -> None:
        """The bar becomes a line; items that never came to their end go with their whole task."""
        count.tenth = 10
        if not count.event.item:
            ended = count.event.task
            self.counts = {k: c for k, c in self.counts.items() if k[0] != ended or c.is_finished}
        self._draw(now)  # first, so that the line does not appear above its own bar
        self.show_count(count, now)

    def _leave_earlier_steps(self, task: str) -> None:
        """Take away the bars of earlier steps that never came to their end, such as a training that diverged."""
        if task in self.steps:
            earlier = self.steps[: self.steps.index(task)]
            self.counts = {k: c for k, c in self.counts.items() if k[0] not in earlier}

    def _draw(self, now: float) -> None:
        self.drawn = now
        if self.live is None:
            from rich.live import Live

            self.live = Live(console=self.console, auto_refresh=False, transient=True, redirect_stdout=False)
            self.live.start()
        self.live.update(self._picture(now), refresh=True)

    def _picture(self, now: float) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for width in (None, BAR_WIDTH, None, None):
            grid.add_column(no_wrap=True, width=width)
        for count in self._in_work():
            event = count.event
            amount = f"{event.done:,} of {event.total:,}"
            remarks = ", ".join([*count.remarks(now), *filter(None, [event.text])])
            grid.add_row(
                Text(printable(count.name)),
                ProgressBar(event.total, event.done, width=BAR_WIDTH),
                Text(amount),
                Text(printable(remarks)),
            )
        coming = self._coming()
        return Group(grid, Text(f"next: {', '.join(coming)}", style="dim")) if coming else grid

    def _in_work(self) -> list[Count]:
        return [count for count in self.counts.values() if not count.is_finished]

    def _coming(self) -> tuple[str, ...]:
        """The steps after the latest that was counted."""
        places = [self.steps.index(task) for task, _ in self.counts if task in self.steps]
        return self.steps[max(places) + 1 :] if places else ()


def is_plan(event: Event) -> bool:
    """Whether an event lists the steps of its job."""
    return (event.task, event.item) == ("plan", STEPS)


def remark(event: Event) -> str:
    """An event without a count, as a line."""
    return f"{STEPS}: {event.text}" if is_plan(event) else event.text


def open_display(quiet: bool = False) -> Display:
    """The display that suits stderr.

    Args:
        quiet: Show nothing.

    Returns:
        Bars if stderr is a terminal that can draw them, else plain lines.
    """
    if quiet:
        return Display()
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return LineDisplay(sys.stderr)
    from rich.console import Console

    return LiveDisplay(Console(file=sys.stderr))
