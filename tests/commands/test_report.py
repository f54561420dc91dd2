from __future__ import annotations

import re
from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.commands.report import report, space_in
from supernetic.errors import InputError, RunError
from supernetic.jobs.search.table_search import search_table
from supernetic.jobs.train.job import train
from supernetic.progress import Event


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
    assert " with no more MACs, 0 have a better c10_valid_200" in "\n".join(result.lines())


def test_bad_input_is_named(searched: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a run directory"):
        report([])
    with pytest.raises(InputError, match="takes one run, got 2"):
        report([searched, searched], why="model-1")
    with pytest.raises(InputError, match="is written into it"):
        report(searched, out="x.html")
    with pytest.raises(RunError, match="no run directory"):
        report(tmp_path / "nowhere")


def test_a_folder_of_runs_has_a_page_over_them(run: Path) -> None:
    folder = run.parent
    (folder / "bad").mkdir()
    (folder / "bad" / "run.toml").write_text("job = [")
    assert not (run / "report.html").exists()
    result = report(folder)
    assert result.lines() == [f"the report is {folder / 'index.html'}"]
    text = (folder / "index.html").read_text()
    assert 'href="./run/report.html"' in text
    assert (run / "report.html").exists(), "what is linked was written"
    assert "run.toml is damaged" in text
    with pytest.raises(InputError, match="watch takes a folder of runs"):
        report(run, watch=True)


def test_a_job_renews_the_page_beside_it(run: Path, tmp_path: Path) -> None:
    report(run.parent)
    states: set[str] = set()

    def look(event: Event) -> None:
        states.update(re.findall(r'class="state">(\w+)<', (tmp_path / "index.html").read_text()))

    train("macro:channels=4,resolution=8,head=16", steps=2, limit=300, out=tmp_path / "new", on_event=look)
    assert states == {"finished", "running"}
    assert "2 finished" in (tmp_path / "index.html").read_text()

    def interrupt(event: Event) -> None:
        if event.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("macro:channels=4,resolution=8,head=16", steps=3, limit=300, out=tmp_path / "cut", on_event=interrupt)
    assert "2 finished and 1 interrupted" in (tmp_path / "index.html").read_text()


def test_a_page_that_is_watched_is_renewed_until_it_is_stopped(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = iter([None, None])

    def wait(seconds: float) -> None:
        if next(waits, 0) == 0:
            raise KeyboardInterrupt
        (run / "result.json").unlink(missing_ok=True)

    monkeypatch.setattr("supernetic.commands.report.sleep", wait)
    report(run.parent, watch=True)
    assert "1 interrupted" in (run.parent / "index.html").read_text()


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
