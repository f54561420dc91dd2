"""How a long job says how far it is: one kind of event, one callback.

    supernetic.search("photos/", on_event=print)

Jobs send events and know nothing of who listens. The command line shows them as bars on a terminal and as plain lines
elsewhere (`cli.display`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that a job has to say: a remark, or a count within a task.

    A remark has a text and no total. A count has `done` and `total`, for the whole task or for one `item` of it, such
    as one of several networks that are trained at a time.
    """

    task: str  # the step of the job: plan, train, search, compare, test, export, ...
    text: str = ""  # one line for people
    item: str = ""  # the part of the task that a count is about; empty: the whole task
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        count = f"{self.done:,} of {self.total:,}" if self.total else ""
        head = f"{self.task} {self.item}".strip()
        return self.text if not count else f"{head}: {count}" + (f", {self.text}" if self.text else "")


OnEvent = Callable[[Event], None]
STEPS = "steps"  # Event("plan", "train, search, compare", item=STEPS) lists the steps of a job, in order


def ignore(event: Event) -> None:
    """For callers that do not listen."""
