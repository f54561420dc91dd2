"""What a dry run of a search settled for settings that were left open, for the file of its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..request_text import Settled, recipe_table
from .choose_augment import MEASURED_LATER

if TYPE_CHECKING:
    from .job import SearchJob
    from .plan import SearchPlan

BY_PLAN = "by the plan"


def settled_search(job: SearchJob, plan: SearchPlan) -> dict[str, Settled]:
    """Collect what was settled.

    Args:
        job: The prepared search.
        plan: Its plan.

    Returns:
        Values and reasons by setting.
    """
    settings = job.settings(plan)
    return {
        **_searched(job, plan, settings),
        **_trained(job, plan, settings),
        "device": Settled(settings["device"]),
        "threads": Settled(settings["threads"]),
        "workers": Settled(settings["workers"]),
        "image_size": Settled(None, f"networks see images of {job.training.dataset.resolution} pixels"),
    }


def _searched(job: SearchJob, plan: SearchPlan, settings: dict[str, Any]) -> dict[str, Settled]:
    sized = hasattr(job.goals.searcher, "generations") and plan.population >= job.request.MINIMUM["population"]
    space, reasons = settings["space"].get("text"), "; ".join(job.reasons[:-1])
    return {
        "space": Settled(
            space if job.request.space == "auto" else None, reasons if job.request.space == "auto" else ""
        ),
        "objectives": Settled(settings["objectives"]),
        "keep": Settled(plan.models),
        "supernet": Settled("yes" if job.supernet else "no", job.reasons[-1]),
        "population": Settled(plan.population if sized else None, BY_PLAN),
        "generations": Settled(plan.generations if sized else None, BY_PLAN),
        "evaluations": Settled(
            settings["evaluations"], BY_PLAN if settings["evaluations"] else "until it ends by itself"
        ),
    }


def _trained(job: SearchJob, plan: SearchPlan, settings: dict[str, Any]) -> dict[str, Settled]:
    request = job.request
    retrain = Settled("scratch") if job.retrain == "scratch" else Settled(None, _retrain_reason(job.retrain))
    settled = {
        "augment": Settled(None if plan.augment_reason == MEASURED_LATER else plan.augment, plan.augment_reason),
        "retrain": retrain,
        "retrain_recipe": Settled(
            None if request.retrain_recipe else recipe_table(settings["retrain_recipe"]),
            "the length is fitted to each round" if plan.rounds else BY_PLAN,
        ),
        "network_steps": Settled(
            plan.network_steps or None, BY_PLAN if plan.network_steps else "as many as fit into each round's time"
        ),
    }
    if not job.supernet:
        none = Settled(None, "no supernet is trained")
        return {**settled, "steps": none, "recipe": none, "sampler": none, "stabiliser": none}
    return {
        **settled,
        "steps": Settled(plan.supernet_steps, BY_PLAN),
        "sampler": Settled(
            settings["recipe"].get("sampler"), job.sampled or "by the recipe, else by how weights are shared"
        ),
        "recipe": Settled(None if request.recipe else recipe_table(settings["recipe"]), BY_PLAN),
    }


def _retrain_reason(mode: str) -> str:
    if mode == "check":
        return "the supernet's weights are exported unless a training from scratch does better"
    return ""
