"""Weight angles of architectures by the supernet of a run; nothing is kept, they take microseconds."""

from __future__ import annotations

from collections.abc import Sequence

from ...evaluators.angle import AngleEvaluator
from ...jobs.train.score import translated
from ...jobs.train.supernet_run import first_supernet, load_supernet
from ...objective import Metrics
from ...space import Arch, Space


def angles(run: str, space: Space, archs: Sequence[Arch]) -> list[Metrics]:
    """How far the training of a run has turned the weights of each architecture of `space`."""
    trained, _ = load_supernet(run)
    evaluate = AngleEvaluator(first_supernet(run), trained)
    return evaluate(translated(archs, space, evaluate.space, run))
