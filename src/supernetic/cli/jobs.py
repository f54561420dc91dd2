"""Long commands: search, resume, train, scale, select, detect, study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from ..families.efficientnet_lite import PRETRAINED
from .completion import complete_data, complete_one_of, complete_presets, complete_samplers
from .display import open_display
from .request_files import given_options, is_request_file, said_in_file
from .shared import (
    DATA_HELP,
    RETRAIN_HELP,
    WITHOUT_HELP,
    Balance,
    ClusterOption,
    ClusterTls,
    DataArgument,
    Device,
    DryRun,
    FewWorkers,
    ImageCache,
    ImageSize,
    Insecure,
    Int8,
    Json,
    Latency,
    Limit,
    Minutes,
    NetworkRecipe,
    NetworkSteps,
    Objective,
    Out,
    Precision,
    Quiet,
    Recipe,
    Save,
    Searcher,
    Seed,
    SkipBad,
    SpaceArgument,
    SpaceOption,
    Stabiliser,
    Steps,
    SupernetRecipe,
    Table,
    Threads,
    Track,
    TrustCode,
    Valid,
    Where,
    Workers,
    app,
    numbers,
    open_cluster,
    print_result,
    split,
)

DATA_OR_FILE_HELP = f"{DATA_HELP} Or a TOML file that says the whole request."
Sampler = Annotated[
    str,
    typer.Option(
        help="Sampler of paths: uniform, strict_fair, sandwich, attentive:k=5, ... [default: by the space]",
        autocompletion=complete_samplers,
    ),
]


@app.command()
def train(
    space: SpaceArgument,
    data: DataArgument = "embedded",
    sampler: Sampler = "",
    recipe: SupernetRecipe = "",
    steps: Steps = None,
    stabiliser: Stabiliser = "",
    limit: Limit = None,
    image_size: ImageSize = None,
    valid: Valid = None,
    skip_bad: SkipBad = False,
    calibrate: Annotated[
        float | None,
        typer.Option(help="Images that temperatures are fitted on: number, or share below 1. [default: 0.05]"),
    ] = None,
    split_seed: Annotated[
        int | None, typer.Option(help="Seed of the draw of validation images. [default: the seed]")
    ] = None,
    balance: Balance = "auto",
    image_cache: ImageCache = "",
    threads: Threads = None,
    device: Device = "auto",
    precision: Precision = "no",
    processes: Annotated[int, typer.Option(help="Processes that share each batch, on CPUs or one per GPU.")] = 1,
    snapshots: Annotated[
        str, typer.Option(help="Steps whose weights are kept, as numbers or shares such as 10%,50%.")
    ] = "",
    latency: Latency = "",
    start: Annotated[
        str, typer.Option(help="Finished run of the same space whose weights to start from. [default: random weights]")
    ] = "",
    out: Out = "",
    dry_run: DryRun = False,
    seed: Seed = 0,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Train a supernet of a space, with which `rank --score RUN` scores architectures."""
    from ..jobs.train.job import train as job

    with open_display(quiet or dry_run) as on_event:
        result = job(
            space,
            data,
            sampler=sampler or None,
            recipe=recipe or None,
            steps=steps,
            stabiliser=stabiliser,
            limit=limit,
            image_size=image_size,
            valid=valid,
            skip_bad=skip_bad,
            calibrate=calibrate,
            split_seed=split_seed,
            balance=balance,
            threads=threads,
            device=device,
            precision=precision,
            processes=processes,
            snapshots=snapshots or (),
            latency=latency or None,
            start=start or None,
            seed=seed,
            out=out or None,
            dry_run=dry_run,
            trust_code=trust_code,
            track=track,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def search(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(help=f"{DATA_OR_FILE_HELP} [default: embedded]", autocompletion=complete_data)
    ] = "",
    space: SpaceOption = "auto",
    where: Where = [],  # noqa: B006
    objective: Objective = [],  # noqa: B006
    minutes: Minutes = None,
    keep: Annotated[
        int | None,
        typer.Option(
            help="Models to hand over: the recommended one and cheaper ones. [default: one per 20 min, up to 5]"
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            help="Search inside a pretrained network: efficientnet-lite0, -lite1 or -lite2.",
            autocompletion=complete_one_of(*PRETRAINED),
        ),
    ] = "",
    supernet: Annotated[
        str,
        typer.Option(
            help="Train a supernet: yes, no, or auto (if needed, or without --minutes).",
            autocompletion=complete_one_of("auto", "yes", "no"),
        ),
    ] = "auto",
    evidence: Annotated[
        str,
        typer.Option(
            help="Train controls: short (as all networks at first), full (to the end), none.",
            autocompletion=complete_one_of("short", "full", "none"),
        ),
    ] = "short",
    teacher: Annotated[
        bool,
        typer.Option("--teacher", help="Train a larger network too, for the model to learn from."),
    ] = False,
    augment: Annotated[
        str, typer.Option(help="Vary training images: none, light, flip, cutout, joined by +; auto measures flip.")
    ] = "auto",
    retrain: Annotated[
        str,
        typer.Option(
            help=f"{RETRAIN_HELP}, or auto (by the space).",
            autocompletion=complete_one_of("auto", "scratch", "inherit", "none"),
        ),
    ] = "auto",
    baseline: Annotated[
        list[str],
        typer.Option(
            metavar="<network>", help="Network to compare with: FILE.py, timm:NAME or timm:NAME@fresh. Repeatable."
        ),
    ] = [],  # noqa: B006
    preset: Annotated[
        str,
        typer.Option(
            help="Settings of a paper: scarlet (its objectives, weights, limits).", autocompletion=complete_presets
        ),
    ] = "",
    searcher: Searcher = "nsga2",
    population: Annotated[
        int | None, typer.Option(help="Population size of the searcher (nsga2, evolution, spos, binned, mcea).")
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(help="Number of generations of the searcher (nsga2, spos, binned; mcea: in each round)."),
    ] = None,
    evaluations: Annotated[int | None, typer.Option(help="Number of architectures to evaluate at most.")] = None,
    recipe: SupernetRecipe = "",
    retrain_recipe: NetworkRecipe = "",
    steps: Steps = None,
    network_steps: NetworkSteps = None,
    sampler: Sampler = "",
    stabiliser: Stabiliser = "",
    limit: Limit = None,
    image_size: ImageSize = None,
    valid: Valid = None,
    skip_bad: SkipBad = False,
    balance: Balance = "auto",
    int8: Int8 = "auto",
    image_cache: ImageCache = "",
    threads: Threads = None,
    workers: Workers = None,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    device: Device = "auto",
    precision: Precision = "no",
    table: Table = "",
    without: Annotated[str, typer.Option(help=f"With --table: {WITHOUT_HELP.lower()}")] = "",
    weights: Annotated[
        str, typer.Option(help="With --table: weights of the objectives, separated by commas (nsga2).")
    ] = "",
    allow_test_columns: Annotated[
        bool, typer.Option("--allow-test-columns", help="With --table: allow test columns, for a study of searchers.")
    ] = False,
    out: Out = "",
    dry_run: DryRun = False,
    save: Save = "",
    seed: Seed = 0,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Find the best networks for images and a budget, and finish them as models; or search a benchmark --table."""
    both: dict[str, Any] = {
        "space": space,
        "objectives": objective,
        "where": where,
        "searcher": searcher,
        "preset": preset or None,
        "population": population,
        "generations": generations,
        "evaluations": evaluations,
        "keep": keep,
        "seed": seed,
        "out": out or None,
        "trust_code": trust_code,
    }
    on_images: dict[str, Any] = {
        "minutes": minutes,
        "start": start or None,
        "supernet": supernet,
        "evidence": evidence,
        "teacher": teacher,
        "augment": augment,
        "retrain": retrain,
        "baselines": baseline,
        "recipe": recipe or None,
        "retrain_recipe": retrain_recipe or None,
        "steps": steps,
        "network_steps": network_steps,
        "sampler": sampler or None,
        "stabiliser": stabiliser,
        "limit": limit,
        "image_size": image_size,
        "valid": valid,
        "skip_bad": skip_bad,
        "balance": balance,
        "int8": int8,
        "threads": threads,
        "workers": workers,
        "device": device,
        "precision": precision,
    }
    on_table: dict[str, Any] = {
        "without": split(without),
        "weights": numbers("--weights", weights),
        "allow_test_columns": allow_test_columns,
    }
    if is_request_file(data):
        said = said_in_file(data, "search", given_options(context), trust_code)
        data, table = str(said.get("data", "")), str(said.get("table", table))
        for settings in (both, on_images, on_table):
            settings |= {name: value for name, value in said.items() if name in settings}
    if table:
        _refuse({**on_images, "cluster": cluster, "track": track}, "a search on images, not on a table")
        if data:
            raise InputError(f"a search is on images or on a table, got data={data!r} and table={table!r}")
        both |= {"keep": both["keep"] or TABLE_MODELS, "space": None if both["space"] == "auto" else both["space"]}
        _search_table(table, dry_run, save, quiet, as_json, {**both, **on_table})
        return
    _refuse(on_table, "a search on a table")
    from ..jobs.search.job import search as job

    engine = open_cluster(cluster, cluster_tls, insecure, dry_run=dry_run)
    with engine, open_display(quiet or dry_run) as on_event:
        result = job(
            data or "embedded", dry_run=dry_run, save=save or None, track=track, on_event=on_event, **both, **on_images
        )
    print_result(result, as_json)


def _search_table(table: str, dry_run: bool, save: str, quiet: bool, as_json: bool, settings: dict[str, Any]) -> None:
    from ..jobs.search.table_search import save_table_search, search_table

    if save:
        print(save_table_search(save, table, dry_run=dry_run, **settings))
        return
    if dry_run:
        raise InputError("a search on a table takes seconds: its dry run can only --save FILE")
    with open_display(quiet) as on_event:
        result = search_table(table, on_event=on_event, **settings)
    print_result(result, as_json)


TABLE_MODELS = 5  # that a search on a table chooses by default
UNSET = {  # defaults of options that belong to one kind of search, where they are not None
    "retrain": "auto",
    "supernet": "auto",
    "evidence": "short",
    "teacher": False,
    "augment": "auto",
    "balance": "auto",
    "int8": "auto",
    "baselines": [],
    "stabiliser": "",
    "device": "auto",
    "precision": "no",
    "cluster": "",
    "without": [],
    "weights": [],
    "allow_test_columns": False,
    "skip_bad": False,
    "track": [],
}


def _refuse(given: dict[str, Any], belongs: str) -> None:
    for name, value in given.items():
        if value != UNSET.get(name):
            option = "baseline" if name == "baselines" else name.replace("_", "-")
            raise InputError(f"--{option} belongs to {belongs}, got {value}")


@app.command()
def select(
    data: DataArgument = "embedded",
    models: Annotated[
        list[str],
        typer.Option(
            metavar="<models>",
            help="Models to compare: names, pretrained:NAME, or a .txt file, one per line. Repeatable. [default: six]",
        ),
    ] = [],  # noqa: B006
    sizes: Annotated[str, typer.Option(help="Sizes of the subsets: auto, or images such as 250,500,1000.")] = "auto",
    seeds: Annotated[
        int, typer.Option(help="Number of seeds at the larger sizes; the smaller half gets twice as many.")
    ] = 2,
    minutes: Annotated[
        float | None,
        typer.Option(help="Time for everything, in minutes. [default: 8 for automatic sizes, else no limit]"),
    ] = None,
    on: Annotated[str, typer.Option(help="Split that models are scored on: test or valid.")] = "test",
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Draw subsets with all classes in proportion.")
    ] = False,
    size: Annotated[str, typer.Option(help="Size of models that name none: cpu or full.")] = "cpu",
    recipe: Recipe = "",
    rates: Annotated[
        str,
        typer.Option(help="Learning rates to try, such as 3e-4,1e-3. [default: the recipe's, else 0.002,0.006,0.02]"),
    ] = "",
    limit: Limit = None,
    image_size: ImageSize = None,
    valid: Valid = None,
    skip_bad: SkipBad = False,
    image_cache: ImageCache = "",
    workers: Workers = None,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    processes: Annotated[int, typer.Option(help="Processes that share each batch of a training.")] = 1,
    device: Device = "auto",
    precision: Precision = "no",
    out: Out = "",
    dry_run: DryRun = False,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Tell which model suits the data, from small subsets of it, by calibrated cross-entropy."""
    settings: dict[str, Any] = {
        "data": data,
        "models": models or None,
        "sizes": sizes,
        "seeds": seeds,
        "minutes": minutes,
        "on": on,
        "stratified": stratified,
        "size": size,
        "recipe": recipe or None,
        "rates": rates or None,
        "limit": limit,
        "image_size": image_size,
        "valid": valid,
        "skip_bad": skip_bad,
        "workers": workers,
        "processes": processes,
        "device": device,
        "precision": precision,
    }
    from ..jobs.select.request import SelectRequest

    SelectRequest(**settings).check_texts()  # mistakes are told now: the job itself imports torch first
    from ..jobs.select.job import select as job

    engine = open_cluster(cluster, cluster_tls, insecure, dry_run=dry_run)
    with engine, open_display(quiet or dry_run) as on_event:
        result = job(
            **settings, out=out or None, dry_run=dry_run, trust_code=trust_code, track=track, on_event=on_event
        )
    print_result(result, as_json)


@app.command()
def scale(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help=DATA_OR_FILE_HELP, autocompletion=complete_data)] = "embedded",
    space: SpaceOption = "auto",
    stages: Annotated[int, typer.Option(help="Number of searched sizes: 2, 4, 8, ... times the base model.")] = 3,
    base_budget: Annotated[str, typer.Option(help="MACs of the base model, such as 300M, or auto.")] = "auto",
    extrapolate: Annotated[int, typer.Option(help="Number of sizes beyond the searched ones.")] = 1,
    minutes: Minutes = None,
    curve: Annotated[
        str, typer.Option(help="Curve through the scaling strategies: linear, squared, exponential, ... or best.")
    ] = "exponential",
    prior: Annotated[str, typer.Option(help="Prior over the stages in training: uniform or size.")] = "uniform",
    ratio: Annotated[float, typer.Option(help="Weight of a stage relative to the next larger one.")] = 1.0,
    steps: Steps = None,
    bases: Annotated[int | None, typer.Option(help="Number of random base models for the first strategies.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds of searching base model and strategies in turn.")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Population size of the search for the base model.")] = None,
    generations: Annotated[
        int | None, typer.Option(help="Number of generations of that search, in each round.")
    ] = None,
    network_steps: NetworkSteps = None,
    order: Annotated[int, typer.Option(help="Number of random networks that show whether accuracy follows MACs.")] = 60,
    recipe: SupernetRecipe = "",
    retrain_recipe: NetworkRecipe = "",
    limit: Limit = None,
    image_size: ImageSize = None,
    valid: Valid = None,
    skip_bad: SkipBad = False,
    balance: Balance = "auto",
    int8: Int8 = "auto",
    image_cache: ImageCache = "",
    threads: Threads = None,
    workers: Workers = None,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    device: Device = "auto",
    precision: Precision = "no",
    out: Out = "",
    dry_run: DryRun = False,
    save: Save = "",
    seed: Seed = 0,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Find a family of models: a base model, searched jointly with the strategies that scale it."""
    from ..jobs.scale.job import scale as job

    settings: dict[str, Any] = {
        "data": data,
        "space": space,
        "stages": stages,
        "base_budget": base_budget,
        "extrapolate": extrapolate,
        "minutes": minutes,
        "curve": curve,
        "prior": prior,
        "ratio": ratio,
        "steps": steps,
        "bases": bases,
        "rounds": rounds,
        "population": population,
        "generations": generations,
        "network_steps": network_steps,
        "order": order,
        "recipe": recipe or None,
        "retrain_recipe": retrain_recipe or None,
        "limit": limit,
        "image_size": image_size,
        "valid": valid,
        "skip_bad": skip_bad,
        "balance": balance,
        "int8": int8,
        "threads": threads,
        "workers": workers,
        "device": device,
        "precision": precision,
        "seed": seed,
    }
    if is_request_file(data):
        settings |= {"data": "embedded", **said_in_file(data, "scale", given_options(context), trust_code)}
    engine = open_cluster(cluster, cluster_tls, insecure, dry_run=dry_run)
    with engine, open_display(quiet or dry_run) as on_event:
        result = job(
            **settings,
            out=out or None,
            dry_run=dry_run,
            save=save or None,
            trust_code=trust_code,
            track=track,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def study(
    file: Annotated[str, typer.Argument(help="TOML file of the study, such as studies/cpu/002-fig4.toml.")],
    data: Annotated[str, typer.Option(help="Images, in place of those that the file names.")] = "",
    image_size: ImageSize = None,
    valid: Valid = None,
    image_cache: ImageCache = "",
    workers: FewWorkers = 1,
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    device: Device = "auto",
    precision: Precision = "no",
    track: Track = [],  # noqa: B006
    out: Annotated[str, typer.Option(help="Directory of the study. [default: runs/studies/NAME]")] = "",
    dry_run: DryRun = False,
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Train a grid of supernets, measure how they rank, and judge claims about it."""
    from ..lab.job import study as job

    engine = open_cluster(cluster, cluster_tls, insecure, dry_run=dry_run)
    with engine, open_display(quiet or dry_run) as on_event:
        result = job(
            file,
            data=data or None,
            image_size=image_size,
            valid=valid,
            workers=workers,
            device=device,
            precision=precision,
            out=out or None,
            dry_run=dry_run,
            trust_code=trust_code,
            track=track,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="Directory of a run that was interrupted.")],
    cluster: ClusterOption = "",
    cluster_tls: ClusterTls = "",
    insecure: Insecure = False,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Go on with an interrupted run; the result is the same to the byte."""
    from ..commands.resume import resume as job

    with open_cluster(cluster, cluster_tls, insecure), open_display(quiet) as on_event:
        result = job(run, trust_code=trust_code, track=track, on_event=on_event)
    print_result(result, as_json)


@app.command()
def detect(
    backbone: Annotated[
        str,
        typer.Argument(
            help="Backbone: a model directory, efficientnet-lite0, timm:NAME, or the name of a network (fresh weights)."
        ),
    ],
    data: Annotated[
        str, typer.Argument(help="Annotated images: a directory in VOC's or COCO's format, or a COCO file.")
    ],
    minutes: Minutes = None,
    steps: Annotated[int | None, typer.Option(help="Training steps, in place of --minutes.")] = None,
    recipe: Recipe = "",
    image_size: Annotated[
        int | None, typer.Option(help="Longer side of the images, in pixels. [default: as they are, at most 640]")
    ] = None,
    channels: Annotated[int, typer.Option(help="Channels of the feature pyramid and the heads.")] = 64,
    shrink: Annotated[
        float | None,
        typer.Option(help="Share of the backbone's MACs to keep, cut where its maps change least. [default: all]"),
    ] = None,
    augment: Annotated[
        str, typer.Option(help="Mirror training images: flip, none; auto measures whether objects keep their meaning.")
    ] = "auto",
    limit: Limit = None,
    out: Out = "",
    dry_run: DryRun = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Train a detector of objects on a backbone, with COCO's metrics and a report."""
    from ..jobs.detect.job import detect as job

    with open_display(quiet or dry_run) as on_event:
        result = job(
            backbone,
            data,
            minutes=minutes,
            steps=steps,
            recipe=recipe or None,
            image_size=image_size,
            channels=channels,
            shrink=shrink,
            augment=augment,
            limit=limit,
            seed=seed,
            out=out or None,
            dry_run=dry_run,
            trust_code=trust_code,
            on_event=on_event,
        )
    print_result(result, as_json)
