"""Help pages: a command with many options shows them in groups, those that matter most first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .numbers import require_numbers

SHORT_HELP_LENGTH = 140  # characters of a command's line in a list, over several lines
MANY_OPTIONS = 16  # from which on options are grouped
MOST_USED = {  # by command; a command that is not here has no such group
    "search": ("where", "minutes", "keep", "space", "out"),
    "scale": ("minutes", "stages", "base_budget", "space", "out"),
    "select": ("models", "minutes", "sizes", "size", "out"),
    "train": ("sampler", "recipe", "steps", "out"),
    "rank": ("score", "truth", "against", "space", "table", "without"),
}
OPTION_GROUPS = {  # names of parameters by the title of their group; what is in none comes under "Other options"
    "Search": (
        "objective", "searcher", "population", "generations", "evaluations", "preset", "curve", "extrapolate",
        "ratio", "bases", "rounds", "order",
    ),
    "Supernet": ("supernet", "sampler", "recipe", "steps", "stabiliser", "prior", "snapshots", "start", "latency"),
    "Finished networks": (
        "retrain", "retrain_recipe", "network_steps", "augment", "evidence", "teacher", "baseline", "int8",
    ),
    "Subsets": ("seeds", "rates", "on", "stratified"),
    "Networks to rank by": ("unique", "top", "sample", "sample_top", "combine", "bn"),
    "Images": (
        "data", "limit", "image_size", "valid", "calibrate", "split_seed", "skip_bad", "balance", "image_cache",
    ),
    "Machine": (
        "device", "precision", "threads", "workers", "processes", "cluster", "cluster_tls", "insecure",
    ),
    "Search on a table": ("table", "without", "weights", "allow_test_columns"),
}  # fmt: skip
RUN_GROUP = "Run and output"
RUN_OPTIONS = ("out", "dry_run", "save", "seed", "track", "quiet", "trust_code", "as_json", "help")
OTHER_GROUP = "Other options"


class Command(TyperCommand):
    """A command whose help shows many options in groups, and whose numbers are read as strictly as everywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; the parser itself would take `nan`, `1_0` and digits of any script."""
        require_numbers(self.params, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then one section per group of options."""
        records = {str(p.name): (p, r) for p in self.get_params(ctx) if (r := p.get_help_record(ctx)) is not None}
        arguments = [r for p, r in records.values() if p.param_type_name == "argument"]
        options = {name: r for name, (p, r) in records.items() if p.param_type_name == "option"}
        groups = [(title, [options[name] for name in names]) for title, names in self.groups(options)]
        for title, rows in [("Arguments", arguments), *groups]:
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def groups(self, options: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
        """Yield titles and names of options; one group alone if there are few of them."""
        if len(options) < MANY_OPTIONS:
            yield "Options", list(options)
            return
        left = dict(options)

        def take(names: tuple[str, ...]) -> list[str]:
            return [name for name in names if left.pop(name, None) is not None]

        yield "Most used", take(MOST_USED.get(str(self.name), ()))
        groups = {title: take(names) for title, names in OPTION_GROUPS.items()}
        last = take(RUN_OPTIONS)
        yield from groups.items()
        yield OTHER_GROUP, list(left)
        yield RUN_GROUP, last


class Group(TyperGroup):
    """Commands of which each is listed with its whole sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in their order."""
        with formatter.section("Commands"):
            formatter.write_dl([(str(c.name), c.get_short_help_str(SHORT_HELP_LENGTH)) for c in self.commands.values()])


class App(typer.Typer):
    """An application whose commands have such help pages."""

    def command(self, *args: Any, cls: type[TyperCommand] | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Register a command."""
        return super().command(*args, cls=cls or Command, **settings)
