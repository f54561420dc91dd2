"""Commands about data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from .display import open_display
from .help import App, Group
from .shared import (
    DataArgument,
    ImageCache,
    Json,
    Limit,
    Quiet,
    Seed,
    SkipBad,
    Valid,
    app,
    print_json,
    print_result,
    split,
)

data_app = App(cls=Group, help="List, fetch and check data sets.", rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """List the data sets that have a name, and where they are."""
    from ..commands.data import list_data

    records = list_data()
    if as_json:
        print_json({"data": records})
        return
    for r in records:
        print(f"{r['name']:<15}{r['place'] or 'not here: ' + r['hint']}")
        print(f"{'':<15}{r['about']} ({r['licence']})")


@data_app.command("get")
def data_get(
    name: Annotated[str, typer.Argument(help="Data set to fetch: cifar10.")],
    to: Annotated[
        str, typer.Option(help="Directory to put it in. [default: the first of $SUPERNETIC_DATA, else data]")
    ] = "",
    as_json: Json = False,
) -> None:
    """Fetch a data set and verify its checksum."""
    from ..commands.data import get_data

    path = str(get_data(name, to or None))
    if as_json:
        print_json({"path": path})
    else:
        print(path)


@data_app.command("check")
def data_check(
    source: DataArgument = "embedded",
    resolution: Annotated[
        int | None,
        typer.Option("--resolution", "--image-size", help="Side to resize images to, in pixels. [default: their own]"),
    ] = None,
    gray: Annotated[
        bool | None,
        typer.Option("--gray/--colour", help="Read images with one channel, or three. [default: as they are]"),
    ] = None,
    classes: Annotated[str, typer.Option(help="Classes to keep, separated by commas. [default: all]")] = "",
    limit: Limit = None,
    valid: Valid = None,
    calibrate: Annotated[
        float, typer.Option(help="Share or number of images to calibrate on, if none are set apart.")
    ] = 0.05,
    test: Annotated[float, typer.Option(help="Share or number of images to test on, if none are set apart.")] = 0.15,
    skip_bad: SkipBad = False,
    image_cache: ImageCache = "",
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Read a data set as a job would, and tell what it holds and what could spoil a result."""
    from ..datasets.check import check_data

    with open_display(quiet) as on_event:
        report = check_data(
            source,
            resolution=resolution,
            gray=gray,
            classes=split(classes) or None,
            limit=limit,
            valid=valid,
            calibrate=calibrate,
            test=test,
            seed=seed,
            skip_bad=skip_bad,
            on_event=on_event,
        )
    print_result(report, as_json)
