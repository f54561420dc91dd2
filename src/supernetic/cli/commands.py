"""Commands that look: spaces, costs, samples, rankings, milliseconds."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..objective import parse_quantity, show_quantity
from .shared import Json, Seed, TrustCode, Where, app, print_json, say, tell


@app.command()
def spaces(as_json: Json = False) -> None:
    """List the search spaces: size, number of choices, paper, named architectures."""
    from ..commands.spaces import list_spaces

    records = list_spaces()
    if as_json:
        print_json({"spaces": records})
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
    from ..commands.cost import cost as look

    if not arch:
        raise InputError("cost needs a space and an architecture, such as: supernetic cost attentive attentive-a0")
    report = look(space, arch, scale)
    if as_json:
        print_json(report.to_json())
        return
    print(f"{'layer':<20}{'block':<11}{'in':>15}{'out':>15}{'MACs':>14}{'params':>12}")
    for r in report.layers:
        shapes = ["x".join(str(n) for n in r[k]) for k in ("in", "out")]
        print(f"{r['name']:<20}{r['label']:<11}{shapes[0]:>15}{shapes[1]:>15}{r['macs']:>14,}{r['params']:>12,}")
    scaled = f" scaled by {report.scale}" if report.scale else ""
    print(f"\n{report.name}{scaled}")
    print(f"{report.macs:,} MACs, {report.params:,} parameters, at most {report.peak:,} activations alive at once")


def _cost_of_search(deployments: int, budgets: str, speeds: str, as_json: bool) -> None:
    from ..lab.accounting import BUDGETS, SPEEDS, search_costs

    family = [parse_quantity(b) / 1e6 for b in budgets.split(",")] if budgets else BUDGETS
    devices = (item.partition("=") for item in speeds.split(",") if item)
    records = search_costs(deployments, family, {**SPEEDS, **{d.strip(): parse_quantity(s) for d, _, s in devices}})
    if as_json:
        print_json({"costs": [r._asdict() for r in records]})
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
    latency: Annotated[str, typer.Option(help="A run or file with measured latencies, for limits in ms.")] = "",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw architectures at a budget, exactly uniform over all that satisfy it."""
    from ..commands import sample as job

    if table or equidistant:
        if not (table and equidistant and by):
            raise InputError("choosing from a table needs --table, --equidistant and --by")
        report = job.sample_equidistant(
            table, equidistant, by, drop_worst=parse_quantity(drop_worst), space=space or None
        )
    else:
        report = job.sample(space, n, where, prior=prior, method=method, seed=seed, latency=latency or None)
    if as_json:
        print_json(report.to_json())
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
        str,
        typer.Option(
            help="A column, macs, FILE.csv[:COLUMN], RUN[:METRIC], RUN,RUN,..., jacov, ..., ladder, or several: a+b."
        ),
    ],
    truth: Annotated[str, typer.Option(help="A column of the table.")],
    against: Annotated[str, typer.Option(help="Another score, over the same networks: which of them is better?")] = "",
    space: Annotated[str, typer.Option(help="The space.")] = "nasbench201",
    table: Annotated[str, typer.Option(help="A table, if not the space's own: a name or a file.")] = "",
    without: Annotated[str, typer.Option(help="Operations to mask, separated by commas.")] = "",
    unique: Annotated[bool | None, typer.Option("--unique/--strings", help="Count networks, or encodings.")] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="Take so many at random, 0 for all. [default: all; 1000 for runs and votes, 20 for ladder]"),
    ] = None,
    sample_top: Annotated[
        int | None, typer.Option(help="And so many of the true top 10 %. [default: none; 300 for runs and votes]")
    ] = None,
    bn: Annotated[str, typer.Option(help="BN of a RUN: recalibrate, batch or running.")] = "recalibrate",
    vote: Annotated[str, typer.Option(help="How joined scores are combined: mean-rank or log-rank.")] = "mean-rank",
    data: Annotated[str, typer.Option(help="Images for votes such as jacov, and for ladder.")] = "embedded",
    workers: Annotated[int, typer.Option(help="Trainings of ladder at a time.")] = 1,
    seed: Seed = 0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Does a score order architectures as the truth does? Correlations with intervals."""
    from ..commands.rank.command import rank as job

    masked = [w.strip() for w in without.split(",") if w.strip()]
    result = job(
        space,
        score=score,
        truth=truth,
        against=against,
        table=table or None,
        without=masked,
        unique=unique,
        sample=sample,
        sample_top=sample_top,
        bn=bn,
        vote=vote,
        data=data,
        workers=workers,
        seed=seed,
        progress=lambda done, total: say(f"{done:,} of {total:,} networks scored"),
        trust_code=trust_code,
    )
    tell(result, as_json)


@app.command()
def latency(
    names: Annotated[list[str], typer.Argument(help="Names such as attentive-a1, SPACE/ARCH, models, ONNX files.")],
    space: Annotated[str, typer.Option(help="The space, if the names are its architectures.")] = "",
    batch: Annotated[str, typer.Option(help="Images at a time, separated by commas.")] = "1,8,128",
    engine: Annotated[str, typer.Option(help="onnx (onnxruntime) or eager (torch).")] = "onnx",
    threads: Annotated[int, typer.Option(help="Processor threads.")] = 1,
    repeats: Annotated[int, typer.Option(help="At most; long batches are repeated less often.")] = 50,
    as_json: Json = False,
) -> None:
    """Measured milliseconds of networks on this machine, with their spread."""
    from ..commands.latency import latency as job

    sizes = [_whole("--batch", b) for b in batch.split(",")]
    result = job(names, space=space, batch=sizes, engine=engine, threads=threads, repeats=repeats, progress=say)
    tell(result, as_json)


def _whole(option: str, text: str) -> int:
    if not text.strip().isdigit():
        raise InputError(f"{option} takes whole numbers separated by commas, got {text!r}")
    return int(text)


@app.command()
def robustness(
    runs: Annotated[list[str], typer.Argument(help="Trainings that differ in their seed, or one with snapshots.")],
    n: Annotated[int, typer.Option("-n", help="Random networks to compare by.")] = 1024,
    bn: Annotated[str, typer.Option(help="BN: recalibrate, batch or running.")] = "recalibrate",
    seed: Seed = 0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Do supernets of other seeds, or at an earlier step, order networks alike? Kendall's tau between them."""
    from ..commands.robustness import robustness as job

    progress = lambda done, total: say(f"{done:,} of {total:,} networks scored")  # noqa: E731
    tell(job(runs, n=n, bn=bn, seed=seed, progress=progress, trust_code=trust_code), as_json)
