"""The command line and the functions say the same: every parameter has an option of its name and default."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from typer.main import get_command

import supernetic
from supernetic.cli import app
from supernetic.cli.shared import GROUPS
from supernetic.commands.data import get_data, list_data
from supernetic.commands.robustness import robustness
from supernetic.commands.sample import sample_equidistant
from supernetic.datasets import load
from supernetic.jobs.search.table_search import search_table
from supernetic.lab.accounting import search_costs

# Commands over another function than the public one of their name, or over several.
FUNCTIONS: dict[str, list[Callable[..., Any]]] = {
    "spaces": [supernetic.list_spaces],
    "cost": [supernetic.cost, search_costs],
    "sample": [supernetic.sample, sample_equidistant],
    "search": [supernetic.search, search_table],
    "predict": [supernetic.predict, supernetic.find_boxes],
    "robustness": [robustness],
    "data list": [list_data],
    "data get": [get_data],
    "data check": [load],  # whose arguments `check_data` passes on
}
PARAMETERS = {
    "objective": "objectives",
    "baseline": "baselines",
    "equidistant": "n",
}  # where an option is not one's name
# No result depends on these: the image cache is a variable, a cluster is a block in Python.
WHERE_WORK_RUNS = {"image_cache", "cluster", "cluster_tls", "insecure"}
OPTIONS_ONLY = {"as_json", "quiet", "of_search"} | WHERE_WORK_RUNS
PARAMETERS_ONLY = {"on_event", "evaluator", "normalisation"}  # objects from Python; of a pretrained network
MEANT = {("search", "data")}  # no data are given where a table is searched
UNITS = {"budgets", "speeds", "equidistant"}  # whose defaults cannot be compared: written with units, or 0 for no table


def commands() -> dict[str, Any]:
    group: Any = get_command(app)
    data = group.commands["data"].commands
    return {k: c for k, c in group.commands.items() if k != "data"} | {f"data {k}": c for k, c in data.items()}


COMMANDS = commands()


def functions(command: str) -> list[Callable[..., Any]]:
    return FUNCTIONS[command] if command in FUNCTIONS else [getattr(supernetic, command)]


def options(command: str) -> dict[str, Any]:
    """Options and arguments by name."""
    return {p.name: p for p in COMMANDS[command].params if p.name != "help"}


def parameters(command: str) -> dict[str, list[Any]]:
    """Parameters by name, with their defaults in all functions that have one."""
    defaults: dict[str, list[Any]] = {}
    for function in functions(command):
        for name, parameter in inspect.signature(function).parameters.items():
            known = defaults.setdefault(name, [])
            if parameter.default is not inspect.Parameter.empty:
                known.append(parameter.default)
    return defaults


def plain(value: Any) -> Any:
    """A default as both sides could write it: nothing, text or a number."""
    if value is None or value in ("", (), []):
        return None
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return float(value[:-1]) if isinstance(value, str) and value.endswith("%") else value


def test_every_public_job_has_its_command() -> None:
    nouns = {"list_spaces", "load", "load_space", "load_table", "declare"}
    nouns |= {
        "backward",
        "batch_score",
        "build",
        "cluster",
        "extract",
        "optimise",
        "read_request",
        "read_trials",
        "register_timm",
        "save",
        "transform",
    }  # objects
    nouns |= {"search_table", "find_boxes"}  # which are `search --table` and `predict` with a detector
    verbs = {n for n in supernetic.__all__ if n[0].islower()} - nouns
    assert verbs <= COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_the_parameters(command: str) -> None:
    named = {PARAMETERS.get(name, name) for name in options(command)} - OPTIONS_ONLY
    known = parameters(command).keys() - PARAMETERS_ONLY
    assert named == known


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_are_the_same(command: str) -> None:
    known = parameters(command)
    for name, option in options(command).items():
        defaults = known.get(PARAMETERS.get(name, name))
        if defaults and name not in UNITS and (command, name) not in MEANT:
            assert plain(option.default) in [plain(d) for d in defaults], f"{command}: {name}"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_written_like_the_parameters(command: str) -> None:
    written = {"as_json": "--json", "n": "-n"}
    for name, option in options(command).items():
        if option.param_type_name == "option":
            assert option.opts[0] == written.get(name, "--" + name.replace("_", "-")), f"{command}: {name}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained_in_a_sentence(command: str) -> None:
    for name, option in options(command).items():
        text = re.sub(r" \[default: [^]]+\]$", "", option.help or "")
        assert text.endswith("."), f"{command} {name}: {text!r}"
        assert text[0].isupper(), text
        assert not text.startswith(("Of ", "At ", "Such ")), text


def test_the_same_option_has_the_same_words() -> None:
    words: dict[str, set[str]] = {}
    for command in COMMANDS:
        for name, option in options(command).items():
            words.setdefault(name, set()).add(option.help)
    for name in ("device", "limit", "threads", "seed", "dry_run", "quiet", "as_json", "where", "steps", "table", "bn"):
        allowed = 2 if name in ("threads", "device", "steps") else 1  # `latency` and `finish` have their own
        assert len(words[name]) <= allowed, words[name]


def test_long_commands_can_be_quiet() -> None:
    long = {
        "search",
        "resume",
        "select",
        "detect",
        "scale",
        "train",
        "study",
        "derive",
        "rank",
        "latency",
        "robustness",
        "finish",
        "transfer",
    }
    long |= {"data check"}
    assert {c for c in COMMANDS if "quiet" in options(c)} == long


def test_every_command_has_its_group() -> None:
    group: Any = get_command(app)
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(group.commands)
    assert group.list_commands(None) == grouped
