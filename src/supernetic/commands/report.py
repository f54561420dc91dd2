"""`report`: the page of a run again, runs compared, or why a model was chosen; from files alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from ..diagnostics import network_diagnostics
from ..errors import InputError
from ..lab.study_page import write_study
from ..reports import compare_report, write_report
from ..reports.detect import write_detect
from ..reports.run_space import space_in as space_in
from ..reports.runs import clean, write_index
from ..reports.scale import write_scale
from ..reports.select import write_select
from ..reports.transfer import write_transfer
from ..reports.why import why as reasons
from ..result import Result
from ..runs.directory import SETTINGS, read_settings, refuse_links
from ..runs.overview import RUNNING, UNREADABLE, holds_runs, runs_of
from ..runs.trust import opens_runs

WATCH_S = 10.0  # between two renewals of the page over a folder
PAGES = {  # by job; all others have one in common
    "detect": write_detect,
    "scale": write_scale,
    "select": write_select,
    "study": write_study,
    "transfer": write_transfer,
}


@dataclass(frozen=True)
class ReportResult(Result):
    """The page that was written, or what was asked about a model: lines in `why`."""

    runs: tuple[str, ...]
    page: str | None
    why: tuple[str, ...] = ()
    diagnostics: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """A summary for people."""
        notes = [f"note: {note}" for note in self.notes]
        return [*self.why] if self.page is None else [*notes, f"the report is {self.page}"]


@opens_runs
def report(
    runs: str | Path | Sequence[str | Path],
    *,
    why: str | None = None,
    diagnostics: str | None = None,
    out: str | Path | None = None,
    watch: bool = False,
    trust_code: bool = False,
) -> ReportResult:
    """Rebuild `report.html` of a run; with several runs, compare them; of a folder of runs, write a page over all.

    Args:
        runs: A run directory, several to compare, or a folder that holds runs.
        why: A model of one run: say what it beat and by how much, and what it did not.
        diagnostics: A network of one run: say what it gets right and wrong, class by class.
        out: Where a comparison goes; by default beside the first run.
        watch: Go on renewing the page over a folder of runs until Ctrl-C. Running jobs renew it anyway; this also
            sees those that were killed.
        trust_code: Run Python code that a run directory names (docs/received-runs.md). Without it, networks of a space
            that is code are not drawn.

    Returns:
        The page, or the reasons or diagnostics.
    """
    paths = [Path(r) for r in ([runs] if isinstance(runs, str | Path) else runs)]
    names = tuple(map(str, paths))
    if not paths:
        raise InputError("a report needs a run directory, got none")
    if why is not None:
        if len(paths) > 1:
            raise InputError(f"why {why} takes one run, got {len(paths)}")
        return ReportResult(names, None, tuple(reasons(paths[0], why)))
    if diagnostics is not None:
        if len(paths) > 1:
            raise InputError(f"diagnostics of {diagnostics} take one run, got {len(paths)}")
        network = network_diagnostics(paths[0], diagnostics)
        return ReportResult(names, None, tuple(network.lines()), network.to_json())
    folder = len(paths) == 1 and holds_runs(paths[0])
    if watch and not folder:
        raise InputError(f"watch takes a folder of runs, got {', '.join(names)}")
    if len(paths) > 1:
        first = paths[0].resolve()
        beside = first.parent / ("-against-".join(p.resolve().name for p in paths) + ".html")
        return ReportResult(names, str(compare_report(paths, out or beside)))
    if out is not None:
        raise InputError(f"the report of one run is written into it; out={str(out)!r} is for comparisons")
    if folder:
        notes = tuple(_write_missing_pages(paths[0]))
        return ReportResult(names, str(_watched(paths[0]) if watch else write_index(paths[0])), notes=notes)
    if paths[0].is_dir():
        refuse_links(paths[0])
    job = read_settings(paths[0]).get("job", "") if (paths[0] / SETTINGS).exists() else ""
    if job in PAGES:
        return ReportResult(names, str(PAGES[job](paths[0])))
    space, notes = space_in(paths[0])
    return ReportResult(names, str(write_report(paths[0], space)), notes=notes)


def _write_missing_pages(folder: Path) -> Iterator[str]:
    """Write the pages of runs that have none yet, so that all can be linked; say which have none."""
    for line in runs_of(folder):
        if not line.report and line.state not in (UNREADABLE, RUNNING):
            try:
                report(folder / line.name)
            except Exception as error:  # whatever someone else's files hold: the other runs have pages to be written
                yield f"{clean(line.name)} has no report: {clean(str(error) or type(error).__name__)}"


def _watched(folder: Path) -> Path:
    """Renew the page over a folder of runs until Ctrl-C, which is how it is meant to end."""
    try:
        while True:
            write_index(folder)
            sleep(WATCH_S)
    except KeyboardInterrupt:
        return write_index(folder)
