"""The page of a transfer: what the fine-tuned network reaches, what was tried, what it gets right and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..objective import show_quantity
from ..ranking.int8 import int8_sentences
from ..ranking.trust import wilson
from ..runs.directory import read_settings
from ..runs.files import HEAD, NETWORKS, RATES, REPORT, TRANSFER
from ..runs.records import NetworkRecord, read_json, read_networks
from .diagnostics import network_pages
from .drawing import draw
from .rendering import fill, flat, write_page
from .summary_text import typeset

WAYS = {"head": "a new head on frozen features", "all": "all layers", "gradual": "layers freed from the end"}


def write_transfer(run: str | Path) -> Path:
    """Write `report.html` into the run of a transfer, from its files alone.

    Args:
        run: The run directory. One that is not finished is refused.

    Returns:
        The page.
    """
    path = Path(run)
    if not (path / NETWORKS).exists():
        raise RunError(f"{path} is not finished, it has no report yet: {NETWORKS} is missing")
    file = path / REPORT
    write_page(file, fill("transfer.html.j2", page(path)))
    return file


def page(path: Path) -> dict[str, Any]:
    """All that the template shows."""
    settings, (network, *_) = read_settings(path), read_networks(path)
    outcome, rates, head = (read_json(path / name) for name in (TRANSFER, RATES, HEAD))
    return {
        "title": f"{settings['model']} on {settings['data']['name']}",
        "place": path.resolve().name,
        "lead": typeset(_lead(settings, network, outcome)),
        "statements": [typeset(s) for s in _statements(settings, network, outcome, head)],
        "trials": [(f"{t['lr']:g}", f"{t['weight_decay']:g}", _percent(t["valid/accuracy"])) for t in rates["tried"]],
        "heads": [(f"{t['penalty']:g}", _percent(t["valid/accuracy"])) for t in head["tried"]],
        "drawing": _drawing(path, network),
        "recipe": list(flat(settings["retrain_recipe"])),
        "plan": list(flat(settings["plan"])),
        "diagnosed": network_pages(path, settings, [network]),
    }


def _lead(settings: Mapping[str, Any], network: NetworkRecord, outcome: Mapping[str, Any]) -> str:
    accuracy, images = (network.test or {}).get("test/accuracy"), settings["data"]["images"]["test"]
    if accuracy is None:
        return "The logits on test images are not finite."
    low, high = wilson(accuracy / 100, images)
    steps = f", {outcome['steps']:,} steps" if outcome["steps"] else ""
    return (
        f"{accuracy:.1f} % of {images:,} test images right ({100 * low:.1f} to {100 * high:.1f}), by "
        f"{WAYS[outcome['kept']]}{steps}."
    )


def _statements(
    settings: Mapping[str, Any], network: NetworkRecord, outcome: Mapping[str, Any], head: Mapping[str, Any]
) -> list[str]:
    costs = f"{show_quantity(network.macs or 0)} MACs, {show_quantity(network.params or 0)} parameters"
    return [
        f"The network began with the weights of {settings['model']}. It sees {settings['resolution']} pixels: {costs}.",
        f"On the held-out fifth of the training images, a new head alone gets {head['best']['valid/accuracy']:.1f} %.",
        *([str(head["mirror_test"])] if head.get("mirror_test") else []),
        *([f"{outcome['reason']}."] if outcome["reason"] else []),
        *(int8_sentences(network.name, network.int8) if network.int8 else []),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _drawing(path: Path, network: NetworkRecord) -> str:
    """The network, once it is exported."""
    from ..blueprint import Blueprint
    from ..exporters.model import is_model, read_record

    place = path / "models" / network.name
    return draw(Blueprint.from_json(read_record(place)["blueprint"])) if is_model(place) else ""
