from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from supernetic import __version__
from supernetic.reports.paste import AUTHORS, LICENCE, TITLE, YEAR, bibtex, command, markdown
from supernetic.runs.view import read_run

Make = Callable[..., Path]
ROOT = Path(__file__).parents[2]


def test_the_command_is_what_was_asked(make: Make) -> None:
    words = shlex.split(command(read_run(make())))
    assert words[:3] == ["supernetic", "search", "my images/fashion"]
    assert words[words.index("--where") + 1] == "macs<=1.4M"
    assert words[words.index("--minutes") + 1] == "6"


def test_lists_flags_and_other_names(make: Make) -> None:
    run = read_run(make())
    asked = {"data": "embedded", "objectives": ["min macs", "max accuracy"], "dry_run": True, "quiet": False}
    told = command(replace(run, settings={"job": "search", "asked": asked}))
    assert told == "supernetic search embedded --objective 'min macs' --objective 'max accuracy' --dry-run"


def test_the_command_is_that_of_the_recorded_request(make: Make) -> None:
    run = read_run(make())
    request = {"data": "embedded", "where": ["macs<=1M"], "minutes": 5.0}
    told = command(replace(run, settings={"job": "search", "request": request, "asked": {"seed": 3}}))
    assert told == "supernetic search embedded --where 'macs<=1M' --minutes 5"
    own = {"data": "embedded", "space": {"class": "mine:Space"}}
    assert command(replace(run, settings={"job": "search", "request": own})) == ""


def test_what_text_cannot_say_has_no_command(make: Make) -> None:
    run = read_run(make())
    assert command(replace(run, settings={"job": "search"})) == ""
    assert command(replace(run, settings={"job": "search", "asked": {"space": "object Macro()"}})) == ""


def test_a_markdown_table_is_aligned_and_safe() -> None:
    lines = markdown(["model", "test"], [["a|b", "91.2\N{NO-BREAK SPACE}%"], ["c", "9 %"]]).splitlines()
    assert lines == ["| model |   test |", "|-------|-------:|", "| a\\|b  | 91.2 % |", "| c     |    9 % |"]


def test_bibtex_has_the_facts_of_the_citation_file() -> None:
    facts = (ROOT / "CITATION.cff").read_text()
    for fact in (TITLE, AUTHORS, LICENCE, __version__):
        assert fact in facts
    assert f"date-released: {YEAR}-" in facts
    text = bibtex()
    assert text.startswith("@software{supernetic,\n")
    assert text.count("{") == text.count("}")
