"""The command line: every command is a few lines over one function of `pipeline`.

`--json` prints one JSON object on stdout and nothing else there; progress goes to stderr. Exit code 0 done, 1 failed,
2 bad input (one line that names the thing, the rule and the value), 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import typer

from . import __version__
from .errors import InputError, SupernetError
from .objective import parse_quantity, show_quantity

app = typer.Typer(
    name="supernetic",
    help="Weight-sharing neural architecture search with exact budgets and honest rankings.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", callback=lambda seed: _require_seed(seed))]
Where = Annotated[
    list[str], typer.Option(help="NAME (<=|>=|<|>) VALUE or NAME in A..B, with units K, M, G, ms, %. Repeatable.")
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=given, standalone_mode=False)
    except InputError as error:
        _leave(2, str(error))
    except SupernetError as error:
        _leave(1, str(error))
    except typer.TyperException as error:  # what the parser does not understand
        _leave(2, error.format_message() + _value(error, given))
    except typer.Exit as leaving:
        sys.exit(leaving.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _leave(130, "interrupted")
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _require_seed(seed: int) -> int:
    if seed < 0:
        raise InputError(f"a seed must not be negative, got {seed}")
    return seed


def _value(error: typer.TyperException, given: list[str]) -> str:
    """The value that a malformed option was given, which the parser's own message leaves out."""
    options = getattr(getattr(error, "param", None), "opts", ())
    return next((f", got {v!r}" for o, v in pairwise(given) if o in options), "")


def _leave(code: int, message: str) -> None:
    print("supernetic: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)


def _tell(result: Any, as_json: bool) -> None:
    """A result that can be told either way."""
    if as_json:
        _print_json(result.to_json())
    else:
        print(result)


def _print_json(record: Any) -> None:
    print(json.dumps(record, allow_nan=False))


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def spaces(as_json: Json = False) -> None:
    """List the search spaces: size, number of choices, paper, named architectures."""
    from .pipeline.look import list_spaces

    records = list_spaces()
    if as_json:
        _print_json({"spaces": records})
        return
    print(f"{'space':<19}{'size':>10}{'choices':>9}  paper  named architectures")
    for r in records:
        named = ", ".join(r["named"][:3]) + (f", ... ({len(r['named'])})" if len(r["named"]) > 3 else "")
        print(f"{r['name']:<19}{_power(r):>10}{r['choices']:>9}  {r['paper']:<6} {named}".rstrip())


def _power(record: dict[str, Any]) -> str:
    return f"{record['size']:,}" if record["size"] < 1e7 else f"{record['size']:.2e}".replace("e+", "e")


@app.command()
def cost(
    space: Annotated[str, typer.Argument(help="A space, or the file that declares one.")] = "",
    arch: Annotated[str, typer.Argument(help="A name, the paper's notation, or integers separated by commas.")] = "",
    scale: Annotated[str, typer.Option(help='Such as "depth=2.0,width=1.4,resolution=380px,rule=repeat".')] = "",
    of_search: Annotated[bool, typer.Option("--of-search", help="What whole searches cost, from the papers.")] = False,
    deployments: Annotated[int, typer.Option(help="With --of-search: deployments N.")] = 40,
    budgets: Annotated[str, typer.Option(help='With --of-search: MACs of a family, such as "350M,800M".')] = "",
    speeds: Annotated[str, typer.Option(help='With --of-search: device speeds, such as "V100=1,TPUv3=2.7".')] = "",
    as_json: Json = False,
) -> None:
    """MACs, parameters, peak activations and layers of one architecture."""
    if of_search:
        _cost_of_search(deployments, budgets, speeds, as_json)
        return
    from .pipeline.look import cost as look

    if not arch:
        raise InputError("cost needs a space and an architecture, such as: supernetic cost attentive attentive-a0")
    report = look(space, arch, scale)
    if as_json:
        _print_json(report.to_json())
        return
    print(f"{'layer':<20}{'block':<11}{'in':>15}{'out':>15}{'MACs':>14}{'params':>12}")
    for r in report.layers:
        shapes = ["x".join(str(n) for n in r[k]) for k in ("in", "out")]
        print(f"{r['name']:<20}{r['label']:<11}{shapes[0]:>15}{shapes[1]:>15}{r['macs']:>14,}{r['params']:>12,}")
    scaled = f" scaled by {report.scale}" if report.scale else ""
    print(f"\n{report.name}{scaled}")
    print(f"{report.macs:,} MACs, {report.params:,} parameters, at most {report.peak:,} activations alive at once")


def _cost_of_search(deployments: int, budgets: str, speeds: str, as_json: bool) -> None:
    from .costs.accounting import BUDGETS, SPEEDS, search_costs

    family = [parse_quantity(b) / 1e6 for b in budgets.split(",")] if budgets else BUDGETS
    devices = (item.partition("=") for item in speeds.split(",") if item)
    records = search_costs(deployments, family, {**SPEEDS, **{d.strip(): parse_quantity(s) for d, _, s in devices}})
    if as_json:
        _print_json({"costs": [r._asdict() for r in records]})
        return
    print(f"{'method':<16}{'what':<26}{'printed':>12}{'recomputed':>14}  unit")
    for r in records:
        printed = "-" if r.printed is None else f"{r.printed:,.6g}" if r.printed < 1e6 else f"{r.printed:,.0f}"
        print(f"{r.method:<16}{r.what:<26}{printed:>12}{r.recomputed:>14,.1f}  {r.unit} {r.device}".rstrip())
        if r.note:
            print(f"{'':<16}{r.note}")


@app.command()
def sample(
    space: Annotated[str, typer.Argument(help="A space, or the file that declares one.")] = "",
    n: Annotated[int, typer.Option("-n", help="How many architectures.")] = 10,
    where: Where = [],  # noqa: B006 - typer's way of a repeatable option
    prior: Annotated[str, typer.Option(help="uniform, depth-uniform, or a TOML or JSON file of weights.")] = "uniform",
    method: Annotated[str, typer.Option(help="exact, proposal (AttentiveNAS) or naive (rejection).")] = "exact",
    table: Annotated[str, typer.Option(help="Choose from a benchmark table instead.")] = "",
    equidistant: Annotated[int, typer.Option(help="With --table: this many, equidistant in a column.")] = 0,
    by: Annotated[str, typer.Option(help="With --equidistant: the column.")] = "",
    drop_worst: Annotated[str, typer.Option(help="With --equidistant: leave this share out first.")] = "0%",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw architectures at a budget, exactly uniform over all that satisfy it."""
    from .pipeline import sample as job

    if table or equidistant:
        if not (table and equidistant and by):
            raise InputError("choosing from a table needs --table, --equidistant and --by")
        report = job.sample_equidistant(
            table, equidistant, by, drop_worst=parse_quantity(drop_worst), space=space or None
        )
    else:
        report = job.sample(space, n, where, prior=prior, method=method, seed=seed)
    if as_json:
        _print_json(report.to_json())
        return
    values = [f"  {c} {{:.3f}}" for c in report.values]
    for i, (row, macs) in enumerate(zip(report.archs.tolist(), report.macs, strict=True)):
        extra = "".join(v.format(c[i]) for v, c in zip(values, report.values.values(), strict=True))
        print(f"{report.space.format(tuple(row))}  {show_quantity(macs)} MACs{extra}")
    print(_said(report), file=sys.stderr)


def _said(report: Any) -> str:
    text = f"{report.how}; {report.trials_per_sample:.3g} trials per sample, {report.seconds:.3f} s"
    text += f" after {report.build_seconds:.2f} s of preparation"
    if report.count:
        low, high = report.count
        text += (
            f"; {low:,} architectures qualify" if low == high else f"; {low:.4g} to {high:.4g} architectures qualify"
        )
    return text


@app.command()
def rank(
    score: Annotated[
        str, typer.Option(help="A column, macs, params, FILE.csv[:COLUMN], RUN[:METRIC], or several joined by +.")
    ],
    truth: Annotated[str, typer.Option(help="A column of the table.")],
    space: Annotated[str, typer.Option(help="The space.")] = "nasbench201",
    table: Annotated[str, typer.Option(help="A table, if not the space's own: a name or a file.")] = "",
    without: Annotated[str, typer.Option(help="Operations to mask, separated by commas.")] = "",
    unique: Annotated[bool | None, typer.Option("--unique/--strings", help="Count networks, or encodings.")] = None,
    sample: Annotated[
        int | None, typer.Option(help="Take so many at random, 0 for all. [default: all; 1000 for a RUN]")
    ] = None,
    sample_top: Annotated[
        int | None, typer.Option(help="And so many of the true top 10 %. [default: none; 300 for a RUN]")
    ] = None,
    bn: Annotated[str, typer.Option(help="BN of a RUN: recalibrate, batch or running.")] = "recalibrate",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Does a score order architectures as the truth does? Correlations with intervals."""
    from .pipeline.rank import rank as job

    masked = [w.strip() for w in without.split(",") if w.strip()]
    result = job(
        space,
        score=score,
        truth=truth,
        table=table or None,
        without=masked,
        unique=unique,
        sample=sample,
        sample_top=sample_top,
        bn=bn,
        seed=seed,
        progress=lambda done, total: print(f"{done:,} of {total:,} networks scored", file=sys.stderr),
    )
    _tell(result, as_json)


@app.command()
def train(
    space: Annotated[str, typer.Argument(help="A space, such as macro:channels=8, or a file.")],
    data: Annotated[str, typer.Argument(help="A name, a folder, an .npz or an archive.")] = "embedded",
    sampler: Annotated[
        str, typer.Option(help="uniform, strict_fair, sandwich, attentive, hierarchical. [default: by the space]")
    ] = "",
    recipe: Annotated[str, typer.Option(help="A TOML file of training settings.")] = "",
    steps: Annotated[int | None, typer.Option(help="Updates, in place of the recipe's length.")] = None,
    stabiliser: Annotated[
        str, typer.Option(help="skip, skip+pool or relu; skip:identity starts as the skip it replaces.")
    ] = "",
    limit: Annotated[int | None, typer.Option(help="Take a subset of so many images.")] = None,
    threads: Annotated[int | None, typer.Option(help="Processor threads. [default: half the processors]")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    precision: Annotated[str, typer.Option(help="Mixed precision: no, fp16 or bf16.")] = "no",
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train a supernet of a space; the run can be resumed, and `rank --score RUN` scores with it."""
    from .pipeline.train import train as job
    from .training.show import bar

    result = job(
        space,
        data,
        sampler=sampler or None,
        recipe=recipe or None,
        steps=steps,
        stabiliser=stabiliser,
        limit=limit,
        threads=threads,
        device=device,
        precision=precision,
        seed=seed,
        out=out or None,
        dry_run=dry_run,
        progress=bar,
    )
    _tell(result, as_json)


@app.command()
def search(
    table: Annotated[str, typer.Option(help="A benchmark table by name, or a file (then say its --space).")] = "",
    space: Annotated[str, typer.Option(help="The space, if the table is a file or has settings.")] = "",
    objective: Annotated[list[str], typer.Option(help="'max NAME' or 'min NAME'. Repeatable.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
    searcher: Annotated[str, typer.Option(help="random, grid, local, evolution, spos, binned or nsga2.")] = "nsga2",
    preset: Annotated[str, typer.Option(help="scarlet: the paper's objectives, weights and limits.")] = "",
    population: Annotated[int | None, typer.Option(help="Of searchers that have one.")] = None,
    generations: Annotated[int | None, typer.Option(help="Of searchers that have them.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Stop after this many.")] = None,
    keep: Annotated[int, typer.Option(help="Models to choose, equispaced on the front.")] = 5,
    oracle: Annotated[bool, typer.Option("--oracle", help="Allow test columns: a study of the searcher.")] = False,
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search a benchmark table for the best architectures under budgets; the run can be resumed."""
    from .pipeline.search import search as job

    result = job(
        table or None,
        space=space or None,
        objectives=objective,
        where=where,
        searcher=searcher,
        preset=preset or None,
        population=population,
        generations=generations,
        evaluations=evaluations,
        keep=keep,
        oracle=oracle,
        out=out or None,
        seed=seed,
        progress=lambda line: print(line, file=sys.stderr),
    )
    _tell(result, as_json)


data_app = typer.Typer(help="Data sets: what there is, getting one, checking one.", rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The data sets known by name, and where they lie."""
    from .pipeline.data import list_data

    records = list_data()
    if as_json:
        _print_json({"data": records})
        return
    for r in records:
        print(f"{r['name']:<15}{r['place'] or 'not here: ' + r['hint']}")
        print(f"{'':<15}{r['about']} ({r['licence']})")


@data_app.command("get")
def data_get(
    name: Annotated[str, typer.Argument(help="A data set that can be fetched: cifar10.")],
    to: Annotated[str, typer.Option(help="Directory to put it in.")] = "data",
    as_json: Json = False,
) -> None:
    """Fetch a data set; checksums are verified."""
    from .pipeline.data import get_data

    path = str(get_data(name, to))
    if as_json:
        _print_json({"path": path})
    else:
        print(path)


@data_app.command("check")
def data_check(
    source: Annotated[str, typer.Argument(help="A name, a folder of images, an .npz, or an archive.")] = "embedded",
    side: Annotated[int | None, typer.Option(help="Resize to this many pixels.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Read a data set as a job would, and say what it holds and what is odd about it."""
    from .pipeline.data import check_data

    report = check_data(source, side=side, seed=seed)
    _tell(report, as_json)


if __name__ == "__main__":
    main()
