from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.commands.report import report, space_in
from supernetic.errors import InputError, RunError
from supernetic.jobs.search.table_search import search_table


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "table"
    search_table("nasbench201", evaluations=150, population=50, keep=3, out=path)
    return path


def test_a_search_on_a_table_has_a_page(searched: Path) -> None:
    result = report(searched)
    assert result.lines() == [f"the report is {searched / 'report.html'}"]
    text = (searched / "report.html").read_text()
    assert "Three models" in text
    assert '<svg class="graph"' in text  # the space was found, so cells are drawn
    assert "Still to come" not in text


def test_a_training_has_a_page(run: Path) -> None:
    assert report([run]).page == str(run / "report.html")
    text = (run / "report.html").read_text()
    assert "Supernet of macro on" in text
    assert "After 3 steps the training loss is" in text


def test_a_run_killed_at_once_has_a_page(run: Path) -> None:
    for file in list(run.iterdir()):
        if file.is_file() and file.name != "run.toml":
            file.unlink()
    report(run)
    assert "next: training the supernet" in (run / "report.html").read_text()


def test_runs_are_compared_beside_the_first(searched: Path, run: Path, tmp_path: Path) -> None:
    result = report([run, searched])
    assert result.page == str(run.parent.resolve() / "run-against-table.html")
    assert report([run, searched], out=tmp_path / "x.html").page == str(tmp_path / "x.html")


def test_why_a_model(searched: Path) -> None:
    result = report(searched, why="model-2")
    assert result.page is None
    assert result.lines()[0].startswith("model-2: ")
    assert result.to_json()["why"] == result.lines()
    assert " with no more MACs, 0 have a better c10_valid_200" in result.lines()[1]


def test_bad_input_is_named(searched: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a run directory"):
        report([])
    with pytest.raises(InputError, match="takes one run, got 2"):
        report([searched, searched], why="model-1")
    with pytest.raises(InputError, match="is written into it"):
        report(searched, out="x.html")
    with pytest.raises(RunError, match="no run directory"):
        report(tmp_path / "nowhere")


def test_the_space_is_found_as_it_was(searched: Path, run: Path, tmp_path: Path) -> None:
    assert space_in(searched)[0] == catalog.space("nasbench201")
    found, _ = space_in(run)
    assert found is not None
    assert found.blueprint((2,) * 8).resolution == 8
    assert space_in(tmp_path) == (None, ())
    text = (run / "run.toml").read_text()
    (run / "run.toml").write_text(text.replace(found.fingerprint, "0" * 16))
    assert space_in(run)[0] is None


def test_drawings_are_of_finished_networks() -> None:
    from supernetic.reports.run_space import _finished

    space = catalog.space("macro:stabiliser=skip")
    assert any(x.kind == "skip" for x in _finished(space).blueprint((0,) * 8))
