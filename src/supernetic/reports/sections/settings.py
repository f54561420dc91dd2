"""Data, augmentation, settings and times: what a repetition needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runs.view import RunView
from ..augment_preview import preview
from ..paste import command
from ..rendering import flat
from ..summary_text import STEPS, count, duration, listed
from .section import Fact


def data(run: RunView) -> dict[str, Any]:
    """The images."""
    facts = _data(run)
    return {"data": facts, "classes": _classes(run)} if facts else {}


def augmentation(run: RunView) -> dict[str, Any]:
    """How training images are changed."""
    return {"augment": run.augment, "augment_preview": preview(run.augment)} if run.augment else {}


def again(run: RunView) -> dict[str, Any]:
    """The command, seeds, versions, times, and all settings."""
    return {
        "plan": list(flat(run.settings.get("plan", {}))),
        "times": _times(run),
        "total": duration(sum(run.seconds.values())),
        "command": command(run),
        "facts_of_run": _facts(run),
        "settings": [(k, v) for k, v in flat(run.settings) if not k.startswith(("data.classes", "plan."))],
    }


def _data(run: RunView) -> list[Fact]:
    d = run.settings.get("data", {})
    if not isinstance(d, Mapping) or not d:
        return []
    images = run.splits or d.get("images", {})
    facts = [
        ("name", str(d.get("name", ""))),
        ("images", listed([f"{n:,} {name}" for name, n in images.items()])),
        (
            "size",
            f"{d['resolution']} × {d['resolution']}, {count(d.get('channels', 3), 'channel')}"
            if "resolution" in d
            else "",
        ),
        ("classes", str(len(d.get("classes", ())) or "")),
        ("source", str(d.get("source", ""))),
        ("licence", str(d.get("licence", ""))),
        ("fingerprint", str(d.get("fingerprint", ""))),
        ("left out, as they cannot be read", listed(_skipped(run))),
    ]
    return [(k, v) for k, v in facts if v]


def _skipped(run: RunView) -> list[str]:
    """Images that `--skip-bad` left out."""
    load = run.settings.get("load", {})
    names = load.get("skip_bad", ()) if isinstance(load, Mapping) else ()
    return [str(name) for name in names] if isinstance(names, list) else []


def _classes(run: RunView) -> list[str]:
    d = run.settings.get("data", {})
    return [str(c) for c in d.get("classes", ())] if isinstance(d, Mapping) else []


def _times(run: RunView) -> list[tuple[str, str, str, float]]:
    """(step, time, time that was planned, share of the longest)."""
    longest = max(run.seconds.values(), default=0) or 1
    order = [*STEPS, *run.seconds]
    ordered = sorted(run.seconds.items(), key=lambda item: order.index(item[0]))
    planned = run.settings.get("plan", {}).get("seconds", {})
    plans = {k: f"planned {duration(s)}" for k, s in planned.items() if s}
    return [(name, duration(s), plans.get(name, ""), round(100 * s / longest, 1)) for name, s in ordered]


def _facts(run: RunView) -> list[Fact]:
    """Seeds, versions and what else a repetition needs."""
    s = run.settings
    versions = s.get("versions", {})
    space = s.get("space", {})
    searcher = run.search.searcher or s.get("searcher") or {}
    facts = [
        ("seed", str(s.get("seed", run.asked.get("seed", "")))),
        ("space", str(space.get("text", space.get("name", ""))) if isinstance(space, Mapping) else str(space)),
        ("fingerprint of the space", str(space.get("fingerprint", "")) if isinstance(space, Mapping) else ""),
        ("searcher", str(searcher.get("name", ""))),
        ("recipe of the supernet", _titled(s.get("recipe")) if run.supernet else ""),
        ("recipe of the networks", _titled(s.get("retrain_recipe"))),
        ("threads", str(s.get("threads", ""))),
        ("workers", str(s.get("workers", ""))),
        *((f"{name} version", str(v)) for name, v in versions.items()),
    ]
    return [(k, v) for k, v in facts if v]


def _titled(recipe: Any) -> str:
    return str(recipe.get("title", "")) if isinstance(recipe, Mapping) else ""
