"""Help pages: nothing is cut off at 80 columns, and many options come in groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.main import get_command

from supernetic.cli import app
from supernetic.cli.help import MANY_OPTIONS, MOST_USED, OPTION_GROUPS, RUN_OPTIONS

WIDTH = 80


def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, group
    for inner, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{name} {inner}")


COMMANDS = dict(commands(get_command(app), "supernetic"))


def page(name: str) -> str:
    command = COMMANDS[name]
    with command.make_context(
        name, [], resilient_parsing=True, max_content_width=WIDTH, terminal_width=WIDTH
    ) as context:
        text: str = command.get_help(context)
    return text


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_cut_off(name: str) -> None:
    usage, _, rest = page(name).partition("\n")
    assert usage.startswith("Usage: supernetic")
    for line in rest.splitlines():
        assert len(line) <= WIDTH, line
        assert "\N{HORIZONTAL ELLIPSIS}" not in line, line
        assert not line.endswith("..."), line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_one_group(name: str) -> None:
    text = page(name)
    for option in COMMANDS[name].params:
        if option.param_type_name == "option":
            written = re.escape(option.opts[0])
            assert len(re.findall(rf"^  (-\w, )?{written}( |,|$)", text, re.MULTILINE)) == 1, written


def test_the_options_of_a_search_that_matter_come_first() -> None:
    text = page("supernetic search")
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[:3] == ["Arguments", "Most used", "Search"]
    assert titles[-1] == "Run and output"
    first = text.partition("Most used:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in first.splitlines() if line.startswith("  --")] == [
        "--where", "--minutes", "--keep", "--space", "--out",
    ]  # fmt: skip
    assert "Other options" not in text


def test_groups_name_options_that_exist() -> None:
    every = {p.name for command in COMMANDS.values() for p in command.params} | {"help"}
    grouped = {*RUN_OPTIONS, *(n for names in (*OPTION_GROUPS.values(), *MOST_USED.values()) for n in names)}
    assert grouped <= every
    assert all(len(COMMANDS[f"supernetic {name}"].params) >= MANY_OPTIONS for name in MOST_USED)


def test_short_options(process: Callable[..., Any]) -> None:
    assert process("-V").stdout == process("--version").stdout
    assert process("data", "check", "-h").stdout == process("data", "check", "--help").stdout
    quiet = {name for name, command in COMMANDS.items() if any("--quiet" in p.opts for p in command.params)}
    assert quiet
    assert all(any("-q" in p.opts for p in COMMANDS[name].params) for name in quiet)
