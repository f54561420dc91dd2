"""Which networks the supernet of a search is trained on: all of the space, or only those within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ...objective import Constraint
from ...samplers.budgeted import Budgeted
from ...space import Space
from .choose_space import cost_limits, limits_text, share_within

MOST_INSIDE = 0.5  # of a space's networks within the limits: where there are more, all of them are trained
SHARINGS = ("choice", "cell", "elastic")  # a scaled space needs its stages in turns


def choose_sampler(space: Space, where: Sequence[Constraint]) -> tuple[Budgeted | None, str]:
    """Keep the supernet of a search with a time limit within the limits on costs.

    A space may reach far beyond a limit, and its largest networks would take most of the time: in `mixed`, a step of
    the sandwich rule costs 80 times as much as one within the limit by which the space was sized.

    Args:
        space: The space.
        where: Limits of the search; only those on costs count.

    Returns:
        The sampler and a note on it; None and no note if the usual one will do.
    """
    limits = [c for c in cost_limits(where) if isfinite(c.high)]
    if not limits or space.sharing not in SHARINGS:
        return None, ""
    share = share_within(space, limits)
    if share > MOST_INSIDE:
        return None, ""
    note = f"the supernet is trained only on networks with {limits_text(limits)}, {100 * share:.2g} % of the space"
    return Budgeted(tuple(_exact_text(c) for c in limits)), note


def _exact_text(limit: Constraint) -> str:
    """What `parse_where` reads back without rounding."""
    if isfinite(limit.low):
        return f"{limit.name} in {limit.low!r}..{limit.high!r}"
    return f"{limit.name}{'<' if limit.high_open else '<='}{limit.high!r}"
