"""What the caller of `rank` gives, read once: text, numbers and functions become scores, and a table is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ... import catalog
from ...benchmarks import Table
from ...costs import METRICS
from ...errors import InputError, RunError, TableError, UnknownNameError
from ...hardware import AUTO, Hardware, require_names, settle_hardware
from ...jobs.request import require_at_least
from ...proxies import PROXIES
from ...ranking.combine import COMBINATIONS, MEAN_RANK
from ...runs.directory import SETTINGS
from ...space import Arch, Archs, Space
from .network_scores import (
    SUBSET,
    ImageOptions,
    ProxyBatch,
    SubsetTrainingScore,
    is_proxy,
    is_subset_training,
    parse_subset,
)
from .run_score import RunScore, find_runs, metric_of
from .scores import (
    Combined,
    CostColumn,
    FileColumn,
    GivenFunction,
    GivenNumbers,
    Numbers,
    Score,
    TableColumn,
    archs_of,
)

JOIN = "+"  # between scores that are combined
_FILE = re.compile(r"(.+\.(?:csv|npz))(?::([\w./ -]+))?")

SingleScore: TypeAlias = str | Path | Score | Numbers | Callable[[Arch], float]
ScoreLike: TypeAlias = SingleScore | Sequence[SingleScore]
TableLike: TypeAlias = str | Path | Table | Archs | Sequence[Arch | str]


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are found where that takes more than looking them up.

    Args:
        combine: How joined scores are combined: mean-rank, log-rank or az-rank.
        bn: Where a supernet's BN statistics come from: recalibrate, batch or running.
        data: Images for proxies and for trainings on a subset.
        workers: Trainings on a subset at a time.
        seed: Of the weights and mini-batches of proxies and trainings.
        image_size: Pixels that the images are brought to; None: the resolution of the networks.
        valid: Number or share of validation images; None: as `datasets.load` has it.
        device: Where networks are scored and trained.
        precision: Mixed precision of supernets and trainings.
    """

    combine: str = MEAN_RANK
    bn: str = "recalibrate"
    data: str | Path = "embedded"
    workers: int = 1
    seed: int = 0
    image_size: int | None = None
    valid: float | None = None
    device: str = AUTO
    precision: str = "no"

    def __post_init__(self) -> None:
        require_at_least("image_size", self.image_size, 1)
        require_at_least("valid", self.valid, 0)
        require_names(self.device, self.precision)
        if self.combine not in COMBINATIONS:
            raise UnknownNameError("way to combine scores", self.combine, COMBINATIONS)
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")

    @cached_property
    def hardware(self) -> Hardware:
        """Settled by the first score that computes with networks: the others need no torch."""
        return settle_hardware(self.device, self.precision)


class ScoreParser:
    """Decides, once, which kind of score is meant.

    Args:
        table: The table whose columns may be named, and whose rows given numbers are aligned with.
        settings: For scores that need them.
    """

    def __init__(self, table: Table, settings: ScoreSettings) -> None:
        self.table, self.settings = table, settings
        self._images = ImageOptions(settings.data, settings.image_size, settings.valid)
        self._scores: dict[str, Score] = {}  # by name
        self._texts: dict[str, Score] = {}  # by text: the same text is the same score

    @cached_property
    def _proxies(self) -> ProxyBatch:
        return ProxyBatch(self._images, self.settings.seed, device=self.settings.hardware.device)

    def parse(self, given: Any, role: str = "score") -> Score:
        """The score that is given, or several as one.

        Args:
            given: Text, a score, numbers, a function, or a sequence of these.
            role: What the score is for; numbers and functions without a name are named after it.

        Returns:
            A score whose name is its own, or the one that it had before.
        """
        if isinstance(given, str):
            return self._parse_text(given.strip())
        if not is_sequence_of_scores(given):
            return self.parse_single(given, role)
        several = [self.parse(item, f"{role} {i}" if len(given) > 1 else role) for i, item in enumerate(given, 1)]
        return self._combined(several, f" {JOIN} ".join(score.name for score in several))

    def parse_truth(self, given: Any) -> Score:
        """The score that others are compared with: its numbers must be known."""
        score = self.parse_single(given, "truth")
        if not score.can_be_truth:
            raise InputError(
                f"the truth must be a column or given numbers, not a proxy or a score of networks; got {score.name}"
            )
        return score

    def parse_single(self, given: Any, role: str) -> Score:
        """One score."""
        if isinstance(given, str | Path):
            text = str(given)
            if text not in self._texts:
                self._texts[text] = self._registered(self._text_score(text))
            return self._texts[text]
        if isinstance(given, Score):
            return self._registered(given)
        if callable(given):
            name = getattr(given, "__name__", "<lambda>")
            name = f"given {role}" if name == "<lambda>" else name
            return self._registered(GivenFunction(given, name, self.table.space))
        return self._registered(GivenNumbers(given, f"given {role}"))

    def _parse_text(self, text: str) -> Score:
        names = [text] if JOIN not in text or _is_path(text) else [name.strip() for name in text.split(JOIN)]
        return self._combined([self.parse_single(name, "score") for name in names], text)

    def _combined(self, scores: Sequence[Score], name: str) -> Score:
        parts = tuple(part for score in scores for part in score.parts)
        return parts[0] if len(parts) == 1 else Combined(name, parts, self.settings.combine)

    def _text_score(self, text: str) -> Score:
        """A score by its text; columns of the table come first."""
        short = text.removeprefix("table/").removeprefix("cost/")
        settings = self.settings
        if short in self.table.columns:
            return TableColumn(text, short)
        if short in METRICS:
            return CostColumn(text, short)
        if file := _FILE.fullmatch(text):
            return FileColumn(text, file[1], file[2] or "")
        if runs := find_runs(text):
            return RunScore(text, runs[0], metric_of(runs[1]), settings.bn, settings.hardware)
        if is_subset_training(text):
            return SubsetTrainingScore(
                text, parse_subset(text), self._images, settings.seed, settings.workers, settings.hardware
            )
        if is_proxy(text):
            return self._proxies.add(text)
        if text and Path(text).is_dir():
            raise RunError(f"{text} is not a run: it holds no {SETTINGS}")
        raise UnknownNameError("score", text, [*self.table.columns, *METRICS, *PROXIES, SUBSET])

    def _registered(self, score: Score) -> Score:
        """The score, if no other one has its name."""
        if self._scores.setdefault(score.name, score) != score:
            raise InputError(f"two scores are called {score.name!r}: name one of them otherwise")
        return score


def find_table(space: Space, table: TableLike | None, *given: Any) -> Table:
    """The table given, the one that is bundled with the space, or the architectures of given numbers.

    Args:
        space: The space of the architectures.
        table: A table, its name or file; or architectures alone, which given numbers are aligned with.
        *given: What the caller gives as scores and truth; mappings say which architectures there are.

    Returns:
        The table, without columns if there are only architectures.
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | Path) or (table is None and catalog.TABLES.get(space.name)):
        return catalog.table(table or space.name, space)
    if table is not None:
        return Table(space, archs_of(space, table), {})
    archs = [archs_of(space, numbers) for numbers in _given_numbers(given) if isinstance(numbers, Mapping)]
    if not archs:
        raise TableError(f"no table of {space.name} is bundled (there are {', '.join(catalog.TABLES)}): give a file")
    return Table(space, np.unique(np.concatenate(archs), axis=0), {})


def is_sequence_of_scores(given: Any) -> bool:
    """Whether it is several scores, and not a list of numbers, some of which may be missing."""
    return isinstance(given, list | tuple) and not all(item is None or isinstance(item, Real) for item in given)


def _given_numbers(given: Iterable[Any]) -> Iterator[Any]:
    """All single things among what is given; the numbers of scores that have some."""
    for item in given:
        if is_sequence_of_scores(item):
            yield from _given_numbers(item)
        else:
            yield item.numbers if isinstance(item, GivenNumbers) else item


def _is_path(text: str) -> bool:
    """Whether it is a file or a run, whose own name may hold what joins scores."""
    file = _FILE.fullmatch(text)
    return bool((file and Path(file[1]).is_file()) or find_runs(text))
