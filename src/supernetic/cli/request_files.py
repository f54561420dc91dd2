"""Requests in TOML files: `supernetic search FILE.toml`, with options that come before what the file says."""

from __future__ import annotations

from typing import Any

import typer

OPTION_NAMES = {"objective": "objectives", "baseline": "baselines"}  # where an option is not its setting's name
SUFFIX = ".toml"


def is_request_file(text: str) -> bool:
    """Whether the argument for data is a file that says the whole request."""
    return text.endswith(SUFFIX)


def given_options(context: typer.Context) -> set[str]:
    """Names of the settings that the command line itself says."""
    given = {name for name in context.params if _source(context, name) == "COMMANDLINE"}
    return {OPTION_NAMES.get(name, name) for name in given}


def said_in_file(file: str, job: str, given: set[str], trust_code: bool) -> dict[str, Any]:
    """What a file says, apart from what the command line says.

    Args:
        file: The file.
        job: The command.
        given: Settings that the command line says.
        trust_code: Whether a file in a run directory may name Python code.

    Returns:
        Settings of the job; those of `data` are the file's, because the command line named the file in its place.
    """
    from ..commands.read_request import read_request

    said = read_request(file, job, trust_code=trust_code)
    return {name: value for name, value in said.items() if name == "data" or name not in given}


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return "" if source is None else source.name
