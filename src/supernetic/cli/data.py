"""Commands about data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from .shared import Json, Seed, app, print_json, tell

data_app = typer.Typer(help="Data sets: what there is, getting one, checking one.", rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The data sets known by name, and where they lie."""
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
    name: Annotated[str, typer.Argument(help="A data set that can be fetched: cifar10.")],
    to: Annotated[str, typer.Option(help="Directory to put it in.")] = "data",
    as_json: Json = False,
) -> None:
    """Fetch a data set; checksums are verified."""
    from ..commands.data import get_data

    path = str(get_data(name, to))
    if as_json:
        print_json({"path": path})
    else:
        print(path)


@data_app.command("check")
def data_check(
    source: Annotated[str, typer.Argument(help="A name, a folder of images, an .npz, or an archive.")] = "embedded",
    resolution: Annotated[int | None, typer.Option(help="Resize to this many pixels.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Read a data set as a job would, and say what it holds and what is odd about it."""
    from ..datasets.check import check_data

    report = check_data(source, resolution=resolution, seed=seed)
    tell(report, as_json)
