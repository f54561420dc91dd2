"""Commands about finished models: finish, derive, export, predict, report."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError
from .completion import complete_data
from .display import open_display
from .shared import (
    RETRAIN_HELP,
    ArchArgument,
    Device,
    DryRun,
    ImageCache,
    ImageSize,
    Int8,
    Json,
    Limit,
    NetworkRecipe,
    Out,
    Precision,
    Quiet,
    Seed,
    SkipBad,
    Track,
    TrustCode,
    Workers,
    app,
    print_result,
)

ModelOut = Annotated[
    str, typer.Option(help="Directory in which the model directory NAME is made. [default: where the run's models are]")
]


@app.command()
def finish(
    run: Annotated[str, typer.Argument(help="Run of search or scale that is finished.")],
    model: Annotated[str, typer.Argument(help="Network of the run that has weights, such as model-1.")],
    minutes: Annotated[float | None, typer.Option(help="Time for everything, in minutes.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps, in place of --minutes.")] = None,
    recipe: NetworkRecipe = "",
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that train the network together if that is faster; with --steps, in any case."),
    ] = None,
    image_cache: ImageCache = "",
    device: Device = "auto",
    precision: Precision = "no",
    seed: Seed = 0,
    dry_run: DryRun = False,
    track: Track = [],  # noqa: B006
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Go on training a model of a finished run; its weights, ONNX file, card and report are written anew."""
    from ..jobs.finish.job import finish as job

    with open_display(quiet or dry_run) as on_event:
        result = job(
            run,
            model,
            minutes=minutes,
            steps=steps,
            recipe=recipe or None,
            workers=workers,
            device=device,
            precision=precision,
            seed=seed,
            dry_run=dry_run,
            trust_code=trust_code,
            track=track,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def transfer(
    model: Annotated[
        str,
        typer.Argument(
            help="Model directory, efficientnet-lite0, -lite1, -lite2, or timm:NAME; several between commas."
        ),
    ],
    data: Annotated[
        str, typer.Argument(help="Images: a name or a folder; several between commas.", autocompletion=complete_data)
    ] = "embedded",
    minutes: Annotated[float | None, typer.Option(help="Time for everything, in minutes.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps, in place of --minutes.")] = None,
    trials: Annotated[
        int | None, typer.Option(help="Learning rates and weight decays to try on a held-out fifth, at most.")
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="Recipe: short, attentive, scalenet, scarlet, or a TOML file. [default: short]")
    ] = "",
    layers: Annotated[str, typer.Option(help="Layers that are trained: all, gradual or head.")] = "all",
    teacher: Annotated[str, typer.Option(help="Model directory with the same classes, to learn from.")] = "",
    image_size: ImageSize = None,
    limit: Limit = None,
    int8: Int8 = "auto",
    image_cache: ImageCache = "",
    workers: Workers = None,
    device: Device = "auto",
    precision: Precision = "no",
    out: Out = "",
    seed: Seed = 0,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Fine-tune a pretrained network on other data; several of both give a table."""
    from ..jobs.transfer.job import transfer as job

    several = data.split(",")
    with open_display(quiet or dry_run) as on_event:
        result = job(
            [m for m in model.split(",") if m],
            several if len(several) > 1 else data,
            minutes=minutes,
            steps=steps,
            trials=trials,
            recipe=recipe or None,
            layers=layers,
            teacher=teacher or None,
            image_size=image_size,
            limit=limit,
            int8=int8,
            seed=seed,
            workers=workers,
            device=device,
            precision=precision,
            out=out or None,
            dry_run=dry_run,
            trust_code=trust_code,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def convert(
    kind: Annotated[str, typer.Argument(help="Whose supernet: attentive (AttentiveNAS's release).")],
    file: Annotated[str, typer.Argument(help="State dict as torch.save wrote it; only tensors are read.")],
    out: Annotated[str, typer.Option(help="Directory to be made: a run, or with --arch a model.")],
    arch: Annotated[str, typer.Option(help="Network to take out of the supernet, such as attentive-a1.")] = "",
    data: Annotated[str, typer.Option(help="Images for the BN statistics of that network.")] = "",
    limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Read the weights of a released supernet into a supernet or a model of ours."""
    from ..commands.convert import convert as command

    print_result(command(kind, file, out=out, arch=arch or None, data=data or None, limit=limit), as_json)


@app.command()
def derive(
    run: Annotated[str, typer.Argument(help="Run that holds a trained supernet.")],
    arch: ArchArgument,
    retrain: Annotated[str, typer.Option(help=f"{RETRAIN_HELP}. [default: by the space]")] = "",
    recipe: NetworkRecipe = "",
    name: Annotated[str, typer.Option(help="Name of the model. [default: by the architecture]")] = "",
    out: ModelOut = "",
    device: Device = "auto",
    precision: Precision = "no",
    int8: Int8 = "auto",
    quiet: Quiet = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Make a network of a supernet a model of its own, retrained if need be."""
    from ..commands.derive import derive as job

    with open_display(quiet) as on_event:
        result = job(
            run,
            arch,
            retrain=retrain or None,
            recipe=recipe or None,
            name=name or None,
            out=out or None,
            device=device,
            precision=precision,
            int8=int8,
            trust_code=trust_code,
            on_event=on_event,
        )
    print_result(result, as_json)


@app.command()
def export(
    source: Annotated[str, typer.Argument(help="Run of a search, or a model directory.")],
    name: Annotated[str, typer.Option(help="Name of the one model to export. [default: all that were chosen]")] = "",
    out: ModelOut = "",
    int8: Int8 = "auto",
    pt2: Annotated[bool, typer.Option("--pt2", help="Write model.pt2 too, for torch.export.load.")] = False,
    optuna: Annotated[
        str, typer.Option(help="SQLite file or URL: write the trials there as an Optuna study NAME, and no models.")
    ] = "",
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Write finished models: weights, ONNX files (run and compared), model card."""
    from ..commands.export import export as job

    result = job(
        source,
        name=name or None,
        out=out or None,
        int8=int8,
        pt2=pt2,
        optuna=optuna or None,
        trust_code=trust_code,
    )
    print_result(result, as_json)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="Directory of a model or a detector.")],
    images: Annotated[list[str], typer.Argument(help="Images: files, folders, .npz files, or data sets by name.")],
    top: Annotated[
        int | None, typer.Option(help="Number of classes or boxes to name per image. [default: 3 classes, all boxes]")
    ] = None,
    batch: Annotated[int, typer.Option(help="Number of images at a time.")] = 64,
    engine: Annotated[str, typer.Option(help="What runs the model: torch, onnx (its ONNX file) or int8.")] = "torch",
    skip_bad: SkipBad = False,
    draw: Annotated[str, typer.Option(help="Folder to write images with the boxes of a detector into.")] = "",
    as_json: Json = False,
) -> None:
    """Classify images with a model, or find objects in them with a detector."""
    from ..commands.find_boxes import find_boxes, is_detector
    from ..commands.predict import TOP
    from ..commands.predict import predict as job

    if is_detector(model):
        print_result(find_boxes(model, images, top=top, engine=engine, draw=draw or None), as_json)
        return
    if draw:
        raise InputError(f"--draw is for the boxes of a detector: {model} is none")
    top = TOP if top is None else top
    print_result(job(model, images, top=top, batch=batch, engine=engine, skip_bad=skip_bad), as_json)


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(help="Run directory; several are compared. Or a folder of runs.")],
    why: Annotated[str, typer.Option(help="Name of a model: tell what it beat, and by how much.")] = "",
    diagnostics: Annotated[
        str, typer.Option(help="Name of a network: tell what it gets right and wrong, class by class.")
    ] = "",
    out: Annotated[str, typer.Option(help="File for the comparison of several runs. [default: beside the first]")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Renew the page over a folder of runs until Ctrl-C.")] = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Write the report of a run again, from its files alone; compare runs; or list the runs of a folder."""
    from ..commands.report import report as job

    about = {"why": why or None, "diagnostics": diagnostics or None}
    print_result(job(runs, **about, out=out or None, watch=watch, trust_code=trust_code), as_json)
