"""`rank`: how well a score orders architectures, against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ... import catalog
from ...errors import InputError
from ...progress import OnEvent, ignore
from ...ranking.combine import MEAN_RANK
from ...ranking.top_n import TOP_SIZES
from ...runs.trust import opens_runs
from ...space import Space
from .comparison import Comparison, Ranking, complete_rows, draw, sample_size
from .parsing import ScoreLike, ScoreParser, ScoreSettings, SingleScore, TableLike, find_table
from .result import RankResult


@opens_runs
def rank(
    space: str | Space = "nasbench201",
    *,
    score: ScoreLike,
    truth: SingleScore,
    against: ScoreLike | None = None,
    table: TableLike | None = None,
    without: Sequence[str] = (),
    unique: bool | None = None,
    sample: int | None = None,
    sample_top: int | None = None,
    top: Sequence[int] = TOP_SIZES,
    combine: str = MEAN_RANK,
    bn: str = "recalibrate",
    data: str | Path = "embedded",
    image_size: int | None = None,
    valid: float | None = None,
    workers: int = 1,
    device: str = "auto",
    precision: str = "no",
    seed: int = 0,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> RankResult:
    """Correlate a score with the truth over all architectures that have both.

    A score is one of these:

    - a column of the table, or a cost (`macs`, `params`, `peak`: the raw number, more counts as better);
    - a file, `mine.csv` or `mine.csv:column`;
    - your own numbers, one per row of the table or by architecture; or your own function of an architecture;
    - the run of a trained supernet, `runs/mine`, by cross-entropy; or by another metric, `runs/mine:accuracy`,
      `runs/mine:angle`;
    - the runs of a few-shot supernet, `runs/a,runs/b`: each network is scored by the one that has its option;
    - a zero-cost proxy (`jacov`, `layers`, ...) on images of `data`;
    - a training on a subset of `data`, `subset:size=500,seeds=2`, by calibrated cross-entropy on the valid split.

    Several are combined by their ranks: `"macs+jacov"`, or a list.

    Args:
        space: The space, its name, or the file that declares it.
        score: The score, or several.
        truth: A column, a cost, a file, your own numbers or your own function.
        against: Another score, to be beaten: the taus are compared over the same networks.
        table: A table, its name or file; or a list of architectures that your numbers are aligned with. By default the
            table of the space or, if there is none, the architectures by which your numbers are given.
        without: Operations to mask.
        unique: Count networks instead of encodings; by default where the space says which encodings coincide.
        sample: Networks to take at random, 0 for all. By default all, but 1,000 for supernets and proxies, and 20 for
            trainings on a subset.
        sample_top: Further networks of the true top 10 %, on which the correlation in the top 10 % is then measured. By
            default none, but 300 for supernets and proxies.
        top: Sizes of the top-N groups.
        combine: How several scores are combined: "mean-rank", "log-rank" or "az-rank".
        bn: Where a supernet's BN statistics come from: "recalibrate", "batch" or "running".
        data: Images for proxies and for trainings on a subset.
        image_size: Pixels that these images are brought to before networks resize them to their own. By default their
            own at once.
        valid: Validation images that trainings on a subset are scored by: their number or, below 1, their share.
        workers: Trainings on a subset at a time.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: Of supernets and of trainings on a subset: `no` (mixed precision), `fp16` or `bf16`.
        seed: Of all random numbers.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives how many networks are scored.

    Returns:
        Correlations with intervals, and what choosing by the score would cost.
    """
    if not top or min(top) < 2:
        raise InputError(f"top-N sizes must be at least 2, got {', '.join(map(str, top)) or 'none'}")
    whole = find_table(catalog.space(space), table, truth, score, against)
    settings = ScoreSettings(combine, bn, data, workers, seed, image_size, valid, device, precision)
    parser = ScoreParser(whole, settings)
    comparison = Comparison.parse(parser, truth, score, against)
    size = sample_size(comparison.usual_sample, sample, sample_top)
    merge = whole.counts_networks if unique is None else unique
    networks = comparison.with_known_numbers(whole).restrict(without)
    networks = networks.unique() if merge else networks
    rng = np.random.default_rng([seed, 1])
    drawn = draw(networks[comparison.truth.name].values, complete_rows(networks), size, rng)
    networks, remarks = comparison.with_measured_numbers(networks, drawn.rows, on_event or ignore)
    drawn = drawn.keep(complete_rows(networks))
    if len(drawn.random) < 2:
        raise InputError(f"a ranking needs two architectures with {comparison}, got {len(drawn.random)}")
    return Ranking(comparison, networks, drawn, "networks" if merge else "encodings").result(top, seed, remarks)
