"""`report`: the page of a run again, runs compared, or why a model was chosen; from files alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..lab.study_page import write_study
from ..reports import compare_report, write_report
from ..reports.run_space import space_in as space_in
from ..reports.scale import write_scale
from ..reports.select import write_select
from ..reports.why import why as reasons
from ..result import Result
from ..runs.directory import SETTINGS, read_settings, refuse_links
from ..runs.trust import opens_runs

PAGES = {"scale": write_scale, "select": write_select, "study": write_study}  # by job; all others have one in common


@dataclass(frozen=True)
class ReportResult(Result):
    """The page that was written, or the reasons for a model."""

    runs: tuple[str, ...]
    page: str | None
    why: tuple[str, ...] = ()
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
    out: str | Path | None = None,
    trust_code: bool = False,
) -> ReportResult:
    """Rebuild `report.html` of a run; with several runs, write a page that compares them.

    Args:
        runs: A run directory, or several to compare.
        why: A model of one run: say what it beat and by how much, and what it did not.
        out: Where a comparison goes; by default beside the first run.
        trust_code: Run Python code that a run directory names (docs/received-runs.md). Without it, networks of a space
            that is code are not drawn.

    Returns:
        The page, or the reasons.
    """
    paths = [Path(r) for r in ([runs] if isinstance(runs, str | Path) else runs)]
    names = tuple(map(str, paths))
    if not paths:
        raise InputError("a report needs a run directory, got none")
    if why is not None:
        if len(paths) > 1:
            raise InputError(f"why {why} takes one run, got {len(paths)}")
        return ReportResult(names, None, tuple(reasons(paths[0], why)))
    if len(paths) > 1:
        first = paths[0].resolve()
        beside = first.parent / ("-against-".join(p.resolve().name for p in paths) + ".html")
        return ReportResult(names, str(compare_report(paths, out or beside)))
    if out is not None:
        raise InputError(f"the report of one run is written into it; out={str(out)!r} is for comparisons")
    if paths[0].is_dir():
        refuse_links(paths[0])
    job = read_settings(paths[0]).get("job", "") if (paths[0] / SETTINGS).exists() else ""
    if job in PAGES:
        return ReportResult(names, str(PAGES[job](paths[0])))
    space, notes = space_in(paths[0])
    return ReportResult(names, str(write_report(paths[0], space)), notes=notes)
