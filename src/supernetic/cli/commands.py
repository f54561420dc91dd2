"""Short commands: spaces, costs, samples, rankings, milliseconds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from ..objective import parse_quantity, show_quantity
from .display import open_display
from .shared import (
    WITHOUT_HELP,
    ArchArgument,
    BatchNorm,
    ClusterOption,
    ClusterTls,
    Device,
    FewWorkers,
    ImageCache,
    ImageSize,
    Insecure,
    Json,
    Latency,
    Precision,
    Quiet,
    Seed,
    SpaceArgument,
    SpaceOption,
    Table,
    TrustCode,
    Valid,
    Where,
    app,
    open_cluster,
    print_json,
    print_progress,
    print_result,
    split,
    whole_numbers,
)


@app.command()
def spaces(as_json: Json = False) -> None:
    """List the search spaces with their sizes, papers and named architectures."""
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
    space: SpaceArgument = "",
    arch: ArchArgument = "",
    scale: Annotated[
        str, typer.Option(help='Scaling, such as "depth=2.0,width=1.4,resolution=380px,rule=repeat".')
    ] = "",
    of_search: Annotated[
        bool, typer.Option("--of-search", help="Show instead what whole searches cost, from the papers.")
    ] = False,
    deployments: Annotated[int, typer.Option(help="With --of-search: number of devices to find a network for.")] = 40,
    budgets: Annotated[
        str,
        typer.Option(help='With --of-search: MACs of a family of models, such as "350M,800M". [default: ScaleNet\'s]'),
    ] = "",
    speeds: Annotated[
        str, typer.Option(help='With --of-search: speeds of devices relative to a V100, such as "TPUv3=2.7".')
    ] = "",
    as_json: Json = False,
) -> None:
    """Show MACs, parameters, peak activations and layers of one architecture."""
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
    from ..lab.accounting import BUDGETS_M_MACS, DEVICE_SPEEDS, search_costs

    family = [parse_quantity(b) / 1e6 for b in split(budgets)] or BUDGETS_M_MACS
    devices = (item.partition("=") for item in split(speeds))
    records = search_costs(
        deployments, family, {**DEVICE_SPEEDS, **{d.strip(): parse_quantity(s) for d, _, s in devices}}
    )
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
    space: SpaceArgument = "",
    n: Annotated[int, typer.Option("-n", help="Number of architectures.")] = 10,
    where: Where = [],  # noqa: B006 - typer's way of a repeatable option
    prior: Annotated[
        str, typer.Option(help="Prior over architectures: uniform, depth-uniform, or a TOML or JSON file of weights.")
    ] = "uniform",
    method: Annotated[
        str, typer.Option(help="Way of sampling: exact, proposal (AttentiveNAS) or naive (rejection).")
    ] = "exact",
    table: Table = "",
    equidistant: Annotated[
        int, typer.Option(help="With --table: choose so many of its architectures, equidistant in the column --by.")
    ] = 0,
    by: Annotated[str, typer.Option(help="With --equidistant: column of the table.")] = "",
    drop_worst: Annotated[str, typer.Option(help="With --equidistant: share of the worst to leave out first.")] = "0%",
    latency: Latency = "",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw architectures at a budget, uniformly over all that satisfy it."""
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
    print_progress(_summary(report))


def _summary(report: Any) -> str:
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
            help="Score to judge: a column, macs, FILE.csv[:COLUMN], RUN[:METRIC], RUN,RUN,..., jacov, ..., subset, "
            "or several joined by +."
        ),
    ],
    truth: Annotated[str, typer.Option(help="Column of the table that is the truth.")],
    against: Annotated[str, typer.Option(help="Another score to compare with, over the same networks.")] = "",
    space: SpaceOption = "nasbench201",
    table: Table = "",
    without: Annotated[str, typer.Option(help=WITHOUT_HELP)] = "",
    unique: Annotated[
        bool | None,
        typer.Option("--unique/--strings", help="Count each network once, or each encoding. [default: by the space]"),
    ] = None,
    top: Annotated[
        str, typer.Option(help="Sizes of the groups of best networks, separated by commas.")
    ] = "10,25,50,150,250,500",
    sample: Annotated[
        int | None,
        typer.Option(
            help="Number of random networks to score, 0 for all. "
            "[default: all; 1000 for runs and proxies, 20 for subset]"
        ),
    ] = None,
    sample_top: Annotated[
        int | None,
        typer.Option(help="Number of networks to add from the true top 10 %. [default: 0; 300 for runs and proxies]"),
    ] = None,
    bn: BatchNorm = "recalibrate",
    combine: Annotated[
        str, typer.Option(help="How joined scores are combined: mean-rank, log-rank or az-rank.")
    ] = "mean-rank",
    data: Annotated[str, typer.Option(help="Images for proxies such as jacov, and for subset.")] = "embedded",
    image_size: ImageSize = None,
    valid: Valid = None,
    image_cache: ImageCache = "",
    workers: FewWorkers = 1,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    device: Device = "auto",
    precision: Precision = "no",
    seed: Seed = 0,
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Tell how well a score orders architectures: its correlation with the truth, with intervals."""
    from ..commands.rank.command import rank as job

    with open_cluster(cluster, cluster_tls, insecure), open_display(quiet) as on_event:
        result = job(
            space,
            score=score,
            truth=truth,
            against=against,
            table=table or None,
            without=split(without),
            unique=unique,
            top=whole_numbers("--top", top),
            sample=sample,
            sample_top=sample_top,
            bn=bn,
            combine=combine,
            data=data,
            image_size=image_size,
            valid=valid,
            workers=workers,
            device=device,
            precision=precision,
            seed=seed,
            trust_code=trust_code,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def latency(
    names: Annotated[
        list[str],
        typer.Argument(help="Networks: names such as attentive-a1, SPACE/ARCH, model directories or ONNX files."),
    ],
    space: SpaceOption = "",
    batch: Annotated[str, typer.Option(help="Batch sizes, separated by commas.")] = "1,8,128",
    engine: Annotated[str, typer.Option(help="What runs the networks: onnx (onnxruntime) or eager (torch).")] = "onnx",
    threads: Annotated[int, typer.Option(help="Processor threads.")] = 1,
    device: Annotated[
        str, typer.Option(help="Device to run them on: cpu, or with --engine eager cuda or mps.")
    ] = "cpu",
    repeats: Annotated[
        int, typer.Option(help="Largest number of measurements; slow batches are measured less often.")
    ] = 50,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the milliseconds of networks on this machine, with their spread."""
    from ..commands.latency import latency as job

    sizes = whole_numbers("--batch", batch)
    with open_display(quiet) as on_event:
        result = job(
            names,
            space=space,
            batch=sizes,
            engine=engine,
            threads=threads,
            device=device,
            repeats=repeats,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def features(
    run: Annotated[str, typer.Argument(help="Directory of a training whose space is a chain of layers.")],
    layer: Annotated[int, typer.Option(help="Number of the layer, from 1.")] = 3,
    arch: Annotated[
        str, typer.Option(help="Network whose earlier layers are run: name or encoding. [default: a random one]")
    ] = "",
    images: Annotated[int, typer.Option(help="Number of validation images.")] = 32,
    maps: Annotated[int, typer.Option(help="Channels of each option in the picture of feature maps.")] = 8,
    device: Device = "auto",
    seed: Seed = 0,
    out: Annotated[str, typer.Option(help="Directory for drawings of similarities, angles and feature maps.")] = "",
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Compare what the options of one layer of a supernet make of the same images."""
    from ..commands.features import features as job

    result = job(
        run, layer=layer, arch=arch, images=images, maps=maps, device=device, seed=seed, out=out or None,
        trust_code=trust_code,
    )  # fmt: skip
    print_result(result, as_json)


@app.command()
def robustness(
    runs: Annotated[list[str], typer.Argument(help="Trainings that differ in their seed, or one with snapshots.")],
    n: Annotated[int, typer.Option("-n", help="Number of random networks to compare by.")] = 1024,
    metric: Annotated[str, typer.Option(help="Metric that orders the networks. [default: cross-entropy]")] = "",
    bn: BatchNorm = "recalibrate",
    images: Annotated[int, typer.Option(help="With --bn recalibrate: number of images for the statistics.")] = 1024,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    device: Device = "auto",
    precision: Precision = "no",
    seed: Seed = 0,
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Tell whether supernets of other seeds, or at earlier steps, order networks alike."""
    from ..commands.robustness import robustness as job

    with open_cluster(cluster, cluster_tls, insecure), open_display(quiet) as on_event:
        result = job(
            runs,
            n=n,
            metric=metric,
            bn=bn,
            images=images,
            device=device,
            precision=precision,
            seed=seed,
            trust_code=trust_code,
            on_event=on_event,
        )
    print_result(result, as_json)
