"""Commands about finished models: derive, export, predict, report."""

from __future__ import annotations

from typing import Annotated

import typer

from .shared import Json, TrustCode, app, tell


@app.command()
def derive(
    run: Annotated[str, typer.Argument(help="A run that holds a trained supernet.")],
    arch: Annotated[str, typer.Argument(help="A name, the paper's notation, or integers separated by commas.")],
    retrain: Annotated[str, typer.Option(help="scratch, inherit or none. [default: by the space]")] = "",
    name: Annotated[str, typer.Option(help="Of the model.")] = "",
    out: Annotated[str, typer.Option(help="Directory that NAME is put into. [default: RUN/models]")] = "",
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Make a network of a supernet a model of its own: extract, fold, recalibrate, retrain, export."""
    from ..commands.derive import derive as job

    tell(job(run, arch, retrain=retrain or None, name=name or None, out=out or None, trust_code=trust_code), as_json)


@app.command()
def export(
    source: Annotated[str, typer.Argument(help="The run of a search, or a model directory.")],
    name: Annotated[str, typer.Option(help="Only this model of a run.")] = "",
    out: Annotated[str, typer.Option(help="Directory that models are put into. [default: where models are]")] = "",
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Write finished models: weights, ONNX (read back and compared), model card, labels."""
    from ..commands.export import export as job

    tell(job(source, name=name or None, out=out or None, trust_code=trust_code), as_json)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A model directory.")],
    images: Annotated[list[str], typer.Argument(help="Image files, folders, an .npz, or a data set by name.")],
    top: Annotated[int, typer.Option(help="How many classes to name.")] = 3,
    engine: Annotated[str, typer.Option(help="torch, or onnx for the model's ONNX file.")] = "torch",
    as_json: Json = False,
) -> None:
    """Classify images with a model."""
    from ..commands.predict import predict as job

    tell(job(model, images, top=top, engine=engine), as_json)


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(help="A run; several are compared.")],
    why: Annotated[str, typer.Option(help="Say what this model beat, and by how much.")] = "",
    out: Annotated[str, typer.Option(help="File for the comparison of several runs.")] = "",
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Write a run's report again, from its files alone; or compare runs."""
    from ..commands.report import report as job

    tell(job(runs, why=why or None, out=out or None, trust_code=trust_code), as_json)
