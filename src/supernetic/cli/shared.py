"""What all commands share: the application, options with the same words everywhere, and how results are printed."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import InputError
from .completion import (
    complete_data,
    complete_devices,
    complete_precisions,
    complete_searchers,
    complete_spaces,
    complete_tables,
)
from .help import SHORT_HELP_LENGTH, App

GROUPS = {  # of commands in the help, the most used first
    "From images to models": (
        "search",
        "resume",
        "report",
        "predict",
        "finish",
        "transfer",
        "export",
        "derive",
        "convert",
    ),
    "Other long jobs": ("select", "detect", "scale", "train", "study"),
    "Looking and measuring": ("spaces", "cost", "sample", "rank", "latency", "robustness"),
    "Data sets": ("data",),
}


class Interrupted(Exception):
    """Ctrl-C, with what is to be said about it; the parser would swallow a `KeyboardInterrupt`."""


class Commands(TyperGroup):
    """All commands: grouped in the help, and an interruption of any of them reaches `main`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            raise Interrupted("; ".join(["interrupted", *getattr(interruption, "__notes__", ())])) from None

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of `GROUPS`; those of no group come last."""
        grouped = [name for names in GROUPS.values() for name in names if name in self.commands]
        return grouped + [name for name in self.commands if name not in grouped]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section of the help per group."""
        width = max(map(len, self.commands))
        grouped = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in self.commands if name not in grouped)
        for title, names in {**GROUPS, "Commands": others}.items():
            commands = [self.commands[name] for name in names if name in self.commands]
            rows = [(str(c.name).ljust(width), c.get_short_help_str(SHORT_HELP_LENGTH)) for c in commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


app = App(
    cls=Commands,
    name="supernetic",
    help="Weight-sharing neural architecture search with exact budgets and honest rankings.",
    add_completion=False,  # `--show-completion SHELL` is our own: Typer's guesses the shell
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all commands
)

# --- options, with the same words in all commands ---------------------------------------------------------------------

SPACE_HELP = "Search space: a name such as macro or macro:channels=8, or the file that declares one."
RETRAIN_HELP = (
    "Weights of finished networks: scratch (trained anew), inherit (the supernet's, trained on), none (as they are)"
)
WITHOUT_HELP = "Operations to leave out of the space, separated by commas."
DATA_HELP = "Images: the name of a data set, a folder, an .npz file or an archive."

SpaceArgument = Annotated[str, typer.Argument(help=SPACE_HELP, autocompletion=complete_spaces)]
SpaceOption = Annotated[str, typer.Option(help=SPACE_HELP, autocompletion=complete_spaces)]
DataArgument = Annotated[str, typer.Argument(help=DATA_HELP, autocompletion=complete_data)]
ArchArgument = Annotated[
    str, typer.Argument(help="Architecture: a name, the paper's notation, or integers separated by commas.")
]
Table = Annotated[
    str, typer.Option(help="Benchmark table: a name, or a file together with --space.", autocompletion=complete_tables)
]
Where = Annotated[
    list[str],
    typer.Option(
        metavar="<limit>", help='Limit such as "macs<=20M" or "macs in 10M..20M"; units K, M, G, ms, %. Repeatable.'
    ),
]
Objective = Annotated[
    list[str], typer.Option(metavar="<goal>", help="What to optimise: 'max NAME' or 'min NAME'. Repeatable.")
]
Searcher = Annotated[
    str,
    typer.Option(
        help="Search method: random, grid, local, evolution, spos, binned, nsga2, thompson or mcea; its settings may "
        "follow, as in local:improve=best.",
        autocompletion=complete_searchers,
    ),
]
Minutes = Annotated[float | None, typer.Option(help="Time for everything, in minutes. [default: no limit]")]
Recipe = Annotated[
    str, typer.Option(help="TOML file with the training settings; the learning rate and batch that it names are kept.")
]
SupernetRecipe = Annotated[str, typer.Option(help="TOML file with the training settings of the supernet.")]
NetworkRecipe = Annotated[str, typer.Option(help="TOML file with the training settings of the finished networks.")]
Steps = Annotated[int | None, typer.Option(help="Training steps of the supernet. [default: by the recipe]")]
NetworkSteps = Annotated[
    int | None, typer.Option(help="Training steps of each finished network. [default: by the recipe]")
]
Stabiliser = Annotated[
    str, typer.Option(help="Learnable layer in place of skips: skip, skip+pool or relu; skip:identity starts as one.")
]
BatchNorm = Annotated[
    str, typer.Option("--bn", help="Source of the supernet's BN statistics: recalibrate, batch or running.")
]
Limit = Annotated[int | None, typer.Option(help="Number of images to use, a random subset. [default: all]")]
ImageSize = Annotated[
    int | None,
    typer.Option(help="Side of the images that networks are trained and tested at, in pixels. [default: as they are]"),
]
Valid = Annotated[
    float | None,
    typer.Option(
        help="Number of images to validate on or, below 1, their share, if none are set apart. [default: 0.1]"
    ),
]
Balance = Annotated[
    str,
    typer.Option(help="Balance unequal classes: none, weights (in the loss), sampling, auto (by what decides)."),
]
Int8 = Annotated[
    str, typer.Option(help="Quantise models to int8 ONNX files too: auto (if the extra export is installed) or no.")
]
ImageCache = Annotated[
    str,
    typer.Option(
        help="Decoded copy of images that do not fit into memory: on, off, or the folder for it. [default: on]",
        callback=lambda value: _use_image_cache(value),
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Processor threads of the supernet's training. [default: half the processors]")
]
Workers = Annotated[
    int | None, typer.Option(help="Networks that are trained at a time. [default: one per processor or GPU]")
]
FewWorkers = Annotated[int, typer.Option("--workers", help="Networks that are trained at a time.")]
Device = Annotated[
    str,
    typer.Option(
        help="Device to compute on: cpu, cuda, cuda:1, mps, or auto (a CUDA GPU if there is one).",
        autocompletion=complete_devices,
    ),
]
Precision = Annotated[
    str, typer.Option(help="Mixed precision on GPUs: no, fp16 or bf16.", autocompletion=complete_precisions)
]
Latency = Annotated[str, typer.Option(help="Run or file with measured latencies, for limits in ms.")]
Out = Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed. [default: runs/...]")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan and stop.")]
Save = Annotated[
    str, typer.Option(help="With --dry-run: TOML file to write the request into, with all that was settled.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Run Python code that a run names, too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only errors.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", callback=lambda seed: _require_seed(seed))]


def _require_seed(seed: int) -> int:
    if seed < 0:
        raise InputError(f"a seed must not be negative, got {seed}")
    return seed


def _use_image_cache(value: str) -> str:
    """Worker processes have to know it too, and no result depends on it: so it is a variable, not a setting."""
    if value:
        from ..datasets.cache import CACHE_VARIABLE

        os.environ[CACHE_VARIABLE] = value
    return value


def split(text: str) -> list[str]:
    """The parts of a text that are separated by commas, none if it is empty."""
    return [part.strip() for part in text.split(",") if part.strip()]


def whole_numbers(option: str, text: str) -> list[int]:
    """The whole numbers of an option that are separated by commas."""
    parts = split(text)
    if not parts or not all(part.isdecimal() for part in parts):
        raise InputError(f"{option} takes whole numbers separated by commas, got {text!r}")
    return [int(part) for part in parts]


def numbers(option: str, text: str) -> list[float]:
    """The numbers of an option that are separated by commas, none if it is empty."""
    try:
        return [float(part) for part in split(text)]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, got {text!r}") from None


# --- what is printed --------------------------------------------------------------------------------------------------


def print_result(result: Any, as_json: bool) -> None:
    """The result of a command on stdout: as text for people, or as JSON."""
    if as_json:
        print_json(result.to_json())
    else:
        print(result)


def print_json(record: Any) -> None:
    """One object on stdout."""
    print(json.dumps(record, allow_nan=False))


def print_progress(line: object) -> None:
    """A line on stderr, which is never mixed with results."""
    print(line, file=sys.stderr, flush=True)
