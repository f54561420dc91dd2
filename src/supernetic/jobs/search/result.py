"""The result of a search on images, read from its run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...diagnostics import AllDiagnostics, Diagnostics, network_diagnostics, read_diagnostics
from ...errors import UnknownNameError
from ...objective import show_quantity
from ...ranking.sentences import trust_sentences
from ...reports.recommendation import recommendation
from ...result import Result
from ...runs.directory import read_settings
from ...runs.files import MODEL_RECORD, MODELS, REPORT
from ...runs.records import (
    FrontRecord,
    MetricValues,
    NetworkRecord,
    read_networks,
    read_search,
    read_trust,
    recommended_network,
)
from ...text import columns
from ...trials import Trials, read_trials
from ..request_text import dry_run_line

if TYPE_CHECKING:
    from ...nn.network import Network


@dataclass(frozen=True)
class FoundModel:
    """A model that a search exported."""

    name: str
    path: str  # its directory

    def __fspath__(self) -> str:
        """The directory, so that a model can be given wherever its path can."""
        return self.path

    def load(self) -> Network:
        """The model as a plain module, ready for use."""
        from ...exporters.model import load_model

        return load_model(Path(self.path))

    @property
    def diagnostics(self) -> Diagnostics:
        """What it gets right and wrong on the test images; refused for a model that is no longer in its run."""
        return network_diagnostics(Path(self.path).parent.parent, self.name)


class FoundModels(dict[str, FoundModel]):
    """Models by name; the error for an unknown name lists those that exist."""

    def __missing__(self, name: str) -> FoundModel:
        raise UnknownNameError("model", name, self)


@dataclass(frozen=True)
class SearchResult(Result):
    """A finished search: the recommended model, the others, the front, the controls, and how far to trust it all.

    After a dry run there is only the plan, and `run` is empty.
    """

    run: str
    space: str
    data: str
    front: tuple[FrontRecord, ...]
    networks: tuple[NetworkRecord, ...]  # the models, candidates that lost, and controls
    trust: dict[str, Any]
    models: Mapping[str, FoundModel] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    planned: PlannedSearch | None = None

    @property
    def report(self) -> Path:
        """The page about this run."""
        return Path(self.run) / REPORT

    @property
    def recommended(self) -> FoundModel | None:
        """The model to take; None if there is none, as after a dry run."""
        network = recommended_network(self.networks)
        return None if network is None else self.models.get(network.name)

    @property
    def diagnostics(self) -> AllDiagnostics:
        """By the name of each tested network: confusions, figures of each class, calibration, mistakes."""
        return read_diagnostics(self.run)

    @property
    def trials(self) -> Trials:
        """Every architecture that was evaluated; `trials.to_frame()` is a table of them."""
        return read_trials(self.run)

    def plot(self) -> Any:
        """The front in a plot of matplotlib, which is the extra `notebook`."""
        return self.trials.plot()

    @property
    def score(self) -> str:
        """The metric that networks were searched by."""
        return str((self.trust.get("tau") or {}).get("score", "valid/cross_entropy"))

    @property
    def decides(self) -> str:
        """The metric of validation images that networks were compared by."""
        return str(self.trust.get("decides", ACCURACY))

    def lines(self) -> list[str]:
        """A summary for people."""
        if self.planned is not None:
            return self.planned.lines()
        take = recommendation(self.networks, self.trust)
        one = self.recommended or next(iter(self.models.values()), None)
        return [
            *take,
            *([""] if take else []),
            f"{self.space} on {self.data}: {_count(self.front, 'network')} on the front, "
            f"{_count(self.models, 'model')}",
            "",
            *columns(_table(self.networks, self.score, self.decides)),
            "",
            *trust_sentences(self.trust),
            *(f"note: {n}" for n in self.notes),
            "",
            *([f"supernetic predict {one.path} IMAGE"] if one else []),
            f"everything is in {self.run}, to be read in {self.report}",
        ]

    def _repr_html_(self) -> str:
        """The recommendation and a table, for notebooks."""
        headings, *rows = _table(self.networks, self.score, self.decides)
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        heads = "".join(f"<th>{escape(h)}</th>" for h in headings)
        take = _paragraphs(recommendation(self.networks, self.trust))
        return f"{take}<table><tr>{heads}</tr>{body}</table>{_paragraphs(trust_sentences(self.trust))}"

    def to_json(self) -> dict[str, Any]:
        """Plain records: those of the front and of the networks are as in the run's files."""
        front, networks = [r.to_json() for r in self.front], [n.to_json() for n in self.networks]
        return {**super().to_json(), "front": front, "networks": networks}


@dataclass(frozen=True)
class PlannedSearch(Result):
    """What a search would do."""

    where: tuple[str, ...]
    objectives: tuple[str, ...]
    plan: dict[str, Any]
    text: tuple[str, ...]  # the plan for people
    memory: int  # bytes of weights, gradients and what the optimiser keeps
    saved: str = ""  # the file that the request was written into

    def lines(self) -> list[str]:
        """A summary for people."""
        return [
            *self.text,
            *([f"{self.memory / 2**20:,.0f} MiB for the supernet's training"] if self.plan["supernet_steps"] else []),
            dry_run_line(self.saved),
        ]


STAR = "*"  # marks the recommended model
ACCURACY = "valid/accuracy"  # what decides, unless an objective says otherwise


def _table(networks: Sequence[NetworkRecord], score: str, decides: str = ACCURACY) -> list[list[str]]:
    """The headings, then a row for each network; without columns about which nothing is known."""
    split, _, name = decides.partition("/")
    other = {
        f"{split} {name.replace('_', ' ')}": [show_metric(r.trained, decides) for r in networks],
        f"test {name.replace('_', ' ')}": [show_metric(r.exported_test, f"test/{name}") for r in networks],
    }
    always = {"network": [f"{STAR} {r.name}" if r.recommended else r.name for r in networks]}
    sometimes = {
        "MACs": [show_cost(r.macs) for r in networks],
        "params": [show_cost(r.params) for r in networks],
        "score": [show_metric(r.score, score, 3) for r in networks],
        "steps": ["-" if r.steps is None else f"{r.steps:,}" for r in networks],
        "valid %": [show_metric(r.trained, "valid/accuracy") for r in networks],
        "test %": [show_metric(r.exported_test, "test/accuracy") for r in networks],
        **({} if decides == ACCURACY else other),
    }
    known = {heading: cells for heading, cells in sometimes.items() if any(cell != "-" for cell in cells)}
    table = {**always, **known, "architecture": [r.label for r in networks]}
    return [list(table), *(list(row) for row in zip(*table.values(), strict=True))]


def _paragraphs(sentences: Sequence[str]) -> str:
    return "".join(f"<p>{escape(s)}</p>" for s in sentences)


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")


def show_cost(cost: int | None) -> str:
    """A cost for a table; `-` if it is not known."""
    return "-" if cost is None else show_quantity(cost)


def show_metric(metrics: MetricValues | None, name: str, digits: int = 2) -> str:
    """A metric for a table; `-` if it was not measured."""
    value = (metrics or {}).get(name)
    return "-" if value is None else f"{value:.{digits}f}"


def read_result(run: str | Path, notes: tuple[str, ...] = ()) -> SearchResult:
    """Read the result of a finished run.

    Args:
        run: The run directory.
        notes: What else a reader should know.

    Returns:
        The result. A run that is not finished is refused.
    """
    path = Path(run)
    settings = read_settings(path)
    search, trust, networks = read_search(path), read_trust(path), read_networks(path)
    return SearchResult(
        str(path), search.space, settings["data"]["name"], search.front, networks, trust, found_models(path), notes
    )


def found_models(run: Path) -> FoundModels:
    """The models that a run exported."""
    folders = [p.parent for p in sorted((run / MODELS).glob(f"*/{MODEL_RECORD}"))]
    return FoundModels({p.name: FoundModel(p.name, str(p)) for p in folders})
