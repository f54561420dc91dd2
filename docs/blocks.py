"""The code blocks of the pages: which of them tests run, and which are shown with the reason why they are not.

A Python or console block is run, unless a comment `<!-- not run: REASON -->` stands right above it. Commands in a block
without a language are forms to fill in (`photos/`): their options are checked, and the site says that they were not
run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

NOT_RUN = re.compile(r"<!-- not run: (\S.*) -->")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
PROGRAM = "supernetic"
CODE = ("python", "console", "bash", "sh", "cpp", "js")  # what a reader may run
SHELL = re.compile(rf"^(?:\$ )?(?:{PROGRAM} |pip |make |git |python |docker )", re.M)


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    language: str
    code: str
    reason: str  # why it is not run; "" if it is
    start: int  # where its fence begins in the page
    output: str | None = None  # what it prints, if the page says so: a block of text right behind a Python block

    @property
    def is_code(self) -> bool:
        """Whether a reader may want to run it."""
        return self.language in CODE or self.is_form

    @property
    def is_form(self) -> bool:
        """Whether it has commands whose names are to be replaced by the reader's own."""
        return not self.language and SHELL.search(self.code) is not None

    @property
    def is_run(self) -> bool:
        """Whether tests run it."""
        return self.language in ("python", "console") and not self.reason


def blocks(text: str) -> list[Block]:
    """All blocks of a page."""
    fences = list(FENCE.finditer(text))
    found = []
    for i, fence in enumerate(fences):
        above = NOT_RUN.fullmatch(text[: fence.start()].rstrip().rpartition("\n")[2])
        after = fences[i + 1] if i + 1 < len(fences) else None
        prints = fence[1] == "python" and after and after[1] == "text" and not text[fence.end() : after.start()].strip()
        output = after[2] if after and prints else None
        found.append(Block(fence[1], fence[2], above[1] if above else "", fence.start(), output))
    return found


def session(block: Block) -> tuple[str, str]:
    """The command of a console block and what it prints."""
    first, _, output = block.code.partition("\n")
    if not first.startswith("$ "):
        raise ValueError(f"a console block begins with '$ ', got {first!r}")
    return first[2:], output


def commands(block: Block) -> Iterator[list[str]]:
    """The arguments of every supernetic command of a block, without comments and placeholders."""
    for line in block.code.replace("\\\n", " ").splitlines():
        line = line.removeprefix("$ ").strip()
        if line.startswith(PROGRAM + " "):
            yield shlex.split(line.partition(" | ")[0], comments=True)[1:]


def unmarked(text: str) -> list[Block]:
    """Blocks that nobody runs and that do not say so: a fault of the page."""
    return [b for b in blocks(text) if b.language in CODE and not b.is_run and not b.reason]


def with_visible_marks(text: str) -> str:
    """The page with a line above every block that was not run."""
    parts, end = [], 0
    for block in blocks(text):
        reason = block.reason or ("a form to fill in; its options are checked" if block.is_form else "")
        if reason:
            parts += [text[end : block.start], f'<p class="not-run">Not run here: {reason}</p>\n\n']
            end = block.start
    return NOT_RUN.sub("", "".join([*parts, text[end:]]))
