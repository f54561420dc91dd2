"""The pages that are made from the code are up to date."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_papers_are_as_the_modules_say() -> None:
    made: str = runpy.run_path(str(DOCS / "papers.py"))["table"]()
    assert (DOCS / "papers.md").read_text(encoding="utf-8") == made
