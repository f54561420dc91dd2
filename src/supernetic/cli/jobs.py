"""Commands that start something long: search, resume, train, scale, select, study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from .shared import Json, Seed, TrustCode, Where, app, say, tell


@app.command()
def train(
    space: Annotated[str, typer.Argument(help="A space, such as macro:channels=8, or a file.")],
    data: Annotated[str, typer.Argument(help="A name, a folder, an .npz or an archive.")] = "embedded",
    sampler: Annotated[
        str, typer.Option(help="uniform, strict_fair, sandwich, attentive:k=5, ... [default: by the space]")
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
    processes: Annotated[int, typer.Option(help="Processes that train together, on CPUs or one per GPU.")] = 1,
    snapshots: Annotated[str, typer.Option(help="Keep the weights at these steps or shares, such as 10%,50%.")] = "",
    latency: Annotated[str, typer.Option(help="A run or file with latencies, for samplers in ms.")] = "",
    start: Annotated[str, typer.Option(help="A finished run of the same space to take the weights from.")] = "",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write events for TensorBoard too.")] = False,
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
    seed: Seed = 0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Train a supernet of a space; the run can be resumed, and `rank --score RUN` scores with it."""
    from ..jobs.train.job import train as job
    from ..training.display import bar

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
        processes=processes,
        snapshots=snapshots or (),
        latency=latency or None,
        start=start or None,
        tensorboard=tensorboard,
        seed=seed,
        out=out or None,
        dry_run=dry_run,
        progress=bar,
        trust_code=trust_code,
    )
    tell(result, as_json)


@app.command()
def search(
    data: Annotated[
        str, typer.Argument(help="Images: a name, a folder, an .npz, an archive. [default: embedded]")
    ] = "",
    space: Annotated[str, typer.Option(help="A space, a file that declares one, or auto.")] = "auto",
    where: Where = [],  # noqa: B006
    objective: Annotated[list[str], typer.Option(help="'max NAME' or 'min NAME'. Repeatable.")] = [],  # noqa: B006
    minutes: Annotated[float | None, typer.Option(help="Fit everything into this time.")] = None,
    keep: Annotated[int, typer.Option(help="Models to choose, equispaced on the front.")] = 5,
    retrain: Annotated[str, typer.Option(help="scratch, inherit, none, or auto: by the space.")] = "auto",
    baseline: Annotated[list[str], typer.Option(help="FILE.py or timm:NAME to compare with. Repeatable.")] = [],  # noqa: B006
    preset: Annotated[str, typer.Option(help="scarlet: the paper's objectives, weights and limits.")] = "",
    searcher: Annotated[
        str, typer.Option(help="random, grid, local, evolution, spos, binned, nsga2, thompson.")
    ] = "nsga2",
    population: Annotated[int | None, typer.Option(help="Of searchers that have one.")] = None,
    generations: Annotated[int | None, typer.Option(help="Of searchers that have them.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Stop after this many.")] = None,
    recipe: Annotated[str, typer.Option(help="Training settings of the supernet, a TOML file.")] = "",
    retrain_recipe: Annotated[str, typer.Option(help="Training settings of finished networks.")] = "",
    steps: Annotated[int | None, typer.Option(help="Updates of the supernet.")] = None,
    network_steps: Annotated[int | None, typer.Option(help="Updates of each finished network.")] = None,
    sampler: Annotated[str, typer.Option(help="How paths are sampled. [default: by the space]")] = "",
    stabiliser: Annotated[str, typer.Option(help="skip, skip+pool or relu; skip:identity.")] = "",
    limit: Annotated[int | None, typer.Option(help="Take a subset of so many images.")] = None,
    threads: Annotated[int | None, typer.Option(help="Of the supernet's training. [default: half]")] = None,
    workers: Annotated[int | None, typer.Option(help="Networks trained at a time. [default: processors]")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    table: Annotated[str, typer.Option(help="Search a benchmark table instead: a name, or a file and --space.")] = "",
    allow_test_columns: Annotated[
        bool, typer.Option("--allow-test-columns", help="With --table: allow test columns, a study.")
    ] = False,
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan, and stop.")] = False,
    seed: Seed = 0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """From images and a budget to finished, verified models with evidence: train, search, compare, export, report."""
    from ..jobs.search.dispatch import search as job

    both: dict[str, Any] = {
        "objectives": objective,
        "where": where,
        "searcher": searcher,
        "preset": preset or None,
        "population": population,
        "generations": generations,
        "evaluations": evaluations,
        "keep": keep,
        "seed": seed,
        "trust_code": trust_code,
    }
    images: dict[str, Any] = {
        "minutes": minutes,
        "retrain": retrain,
        "baselines": baseline,
        "recipe": recipe or None,
        "retrain_recipe": retrain_recipe or None,
        "steps": steps,
        "network_steps": network_steps,
        "sampler": sampler or None,
        "stabiliser": stabiliser,
        "limit": limit,
        "threads": threads,
        "workers": workers,
        "device": device,
    }
    if table:
        _refuse(images, IMAGES_ONLY, "a search on images, not on a table")
        own: dict[str, Any] = {"allow_test_columns": allow_test_columns, "space": None if space == "auto" else space}
        result = job(data or None, table=table, out=out or None, dry_run=dry_run, tell=say, **both, **own)
    else:
        _refuse({"allow_test_columns": allow_test_columns}, {"allow_test_columns": False}, "a search on a table")
        watching = _watching()
        result = job(data or None, out=out or None, dry_run=dry_run, space=space, **both, **images, **watching)
    tell(result, as_json)


IMAGES_ONLY = {"retrain": "auto", "baselines": [], "stabiliser": "", "device": "auto"}  # and their defaults


def _refuse(given: dict[str, Any], defaults: dict[str, Any], belongs: str) -> None:
    for name, value in given.items():
        if value != defaults.get(name):
            option = "baseline" if name == "baselines" else name.replace("_", "-")
            raise InputError(f"--{option} belongs to {belongs}, got {value}")


def _watching() -> dict[str, Any]:
    """How a long job is followed: lines on stderr, and a bar where someone may be looking."""
    from ..training.display import bar

    return {"tell": say, "watch": bar, "progress": Trainings()}


class Trainings:
    """A line for every tenth of a network's training."""

    def __init__(self) -> None:
        self.told: dict[str, int] = {}

    def __call__(self, name: str, done: int, steps: int) -> None:
        """Say how far a network is."""
        tenth = 10 * done // max(1, steps)
        if tenth > self.told.get(name, 0):
            self.told[name] = tenth
            if tenth % 5 == 0:
                say(f"{name}: {done:,} of {steps:,} steps")


@app.command()
def select(
    data: Annotated[str, typer.Argument(help="Images: a name, a folder, an .npz, an archive.")] = "embedded",
    models: Annotated[
        list[str], typer.Option(help="Names, or a .txt file with one per line. Repeatable. [default: six for a CPU]")
    ] = [],  # noqa: B006
    sizes: Annotated[str, typer.Option(help="auto, or numbers of images such as 250,500,1000.")] = "auto",
    seeds: Annotated[int, typer.Option(help="At the larger sizes; the smaller half gets twice as many.")] = 2,
    minutes: Annotated[
        float | None, typer.Option(help="Fit everything into this time. [default: 8 for auto sizes, else no limit]")
    ] = None,
    on: Annotated[str, typer.Option(help="The split that scores are taken on: test or valid.")] = "test",
    stratified: Annotated[bool, typer.Option("--stratified", help="Subsets with all classes in proportion.")] = False,
    size: Annotated[str, typer.Option(help="Of models that name none: cpu or full.")] = "cpu",
    recipe: Annotated[str, typer.Option(help="Training settings, a TOML file.")] = "",
    limit: Annotated[int | None, typer.Option(help="Take a subset of so many images.")] = None,
    workers: Annotated[int | None, typer.Option(help="Trainings at a time. [default: processors]")] = None,
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan, and stop.")] = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Which model suits the data, from small subsets of it, by calibrated cross-entropy."""
    from ..jobs.select.job import select as job

    result = job(
        data,
        models=models or None,
        sizes=sizes,
        seeds=seeds,
        minutes=minutes,
        on=on,
        stratified=stratified,
        size=size,
        recipe=recipe or None,
        limit=limit,
        workers=workers,
        out=out or None,
        dry_run=dry_run,
        tell=None if dry_run else say,
        trust_code=trust_code,
    )
    tell(result, as_json)


@app.command()
def scale(
    data: Annotated[
        str, typer.Argument(help="Images: a name, a folder, an .npz, an archive. [default: embedded]")
    ] = "embedded",
    space: Annotated[str, typer.Option(help="Of base models: scalenet, any space of chains, or auto.")] = "auto",
    stages: Annotated[int, typer.Option(help="Searched sizes: 2, 4, 8, ... times the base.")] = 3,
    base_budget: Annotated[str, typer.Option(help="MACs of the base model, such as 300M, or auto.")] = "auto",
    extrapolate: Annotated[int, typer.Option(help="Sizes beyond the searched ones.")] = 1,
    minutes: Annotated[float | None, typer.Option(help="Fit everything into this time.")] = None,
    curve: Annotated[str, typer.Option(help="Through the strategies: linear, squared, ... or best.")] = "exponential",
    prior: Annotated[str, typer.Option(help="Of the stages in training: uniform or size.")] = "uniform",
    steps: Annotated[int | None, typer.Option(help="Updates of the super-supernet.")] = None,
    bases: Annotated[int | None, typer.Option(help="Random base models for the first strategies.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Of base model and strategies.")] = None,
    population: Annotated[int | None, typer.Option(help="Of base models.")] = None,
    generations: Annotated[int | None, typer.Option(help="Of base models, in each round.")] = None,
    network_steps: Annotated[int | None, typer.Option(help="Updates of each finished network.")] = None,
    order: Annotated[int, typer.Option(help="Networks to see on whether accuracy follows MACs.")] = 60,
    recipe: Annotated[str, typer.Option(help="Training settings of the super-supernet, a TOML file.")] = "",
    retrain_recipe: Annotated[str, typer.Option(help="Training settings of finished networks.")] = "",
    limit: Annotated[int | None, typer.Option(help="Take a subset of so many images.")] = None,
    threads: Annotated[int | None, typer.Option(help="Of the super-supernet's training. [default: half]")] = None,
    workers: Annotated[int | None, typer.Option(help="Networks trained at a time. [default: processors]")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    out: Annotated[str, typer.Option(help="Run directory; one with the same settings is resumed.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan, and stop.")] = False,
    seed: Seed = 0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Search a base model jointly with the strategies that scale it: a family of models, and sizes beyond it."""
    from ..jobs.scale.job import scale as job

    result = job(
        data,
        space=space,
        stages=stages,
        base_budget=base_budget,
        extrapolate=extrapolate,
        minutes=minutes,
        curve=curve,
        prior=prior,
        steps=steps,
        bases=bases,
        rounds=rounds,
        population=population,
        generations=generations,
        network_steps=network_steps,
        order=order,
        recipe=recipe or None,
        retrain_recipe=retrain_recipe or None,
        limit=limit,
        threads=threads,
        workers=workers,
        device=device,
        seed=seed,
        out=out or None,
        dry_run=dry_run,
        trust_code=trust_code,
        **({} if dry_run else _watching()),
    )
    tell(result, as_json)


@app.command()
def study(
    file: Annotated[str, typer.Argument(help="A TOML file, such as studies/cpu/002-fig4.toml.")],
    data: Annotated[str, typer.Option(help="Images, in place of the file's.")] = "",
    workers: Annotated[int, typer.Option(help="Trainings at a time, one thread each.")] = 1,
    out: Annotated[str, typer.Option(help="Directory. [default: runs/studies/NAME]")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, estimate the time, and stop.")] = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Train a grid of supernets, measure how they rank, and judge the claims; trainings are shared between studies."""
    from ..lab.job import study as job

    result = job(
        file,
        data=data or None,
        workers=workers,
        out=out or None,
        dry_run=dry_run,
        tell=say,
        trust_code=trust_code,
    )
    tell(result, as_json)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="The directory of a run that was interrupted.")],
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Go on with a run after a kill, a reboot or Ctrl-C; the result is the same to the byte."""
    from ..commands.resume import resume as job

    tell(job(run, trust_code=trust_code, **_watching()), as_json)
