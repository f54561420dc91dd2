from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from supernetic.errors import InputError
from supernetic.reports import write_report
from supernetic.reports.runs import MARK, clean, page, renew_index, write_index
from supernetic.runs.directory import open_run
from supernetic.runs.overview import BestModel, RunLine, runs_of

Make = Callable[..., Path]
NASTY = '"><script>alert(1)</script>'


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [value for name, value in attrs if name == "href" and value and tag == "a"]


@pytest.fixture
def folder(make: Make, tmp_path: Path) -> Path:
    """A folder with a finished run, one that was interrupted, and one that is damaged."""
    (tmp_path / "runs").mkdir()
    done = make("runs/done", race=True)
    (done / "result.json").write_text("{}")
    make("runs/stopped", until="search")
    for name in ("done", "stopped"):
        write_report(tmp_path / "runs" / name)
    (tmp_path / "runs" / "bad").mkdir()
    (tmp_path / "runs" / "bad" / "run.toml").write_text("job = [")
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


def test_every_run_has_a_row_that_leads_to_its_report(folder: Path) -> None:
    file = write_index(folder)
    text = file.read_text()
    assert file == folder / "index.html"
    assert sorted(Links(text).found) == ["./done/report.html", "./stopped/report.html"]
    assert all((folder / link).exists() for link in Links(text).found)
    rows = {row["name"]: row for row in page("runs", list(runs_of(folder)))["rows"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "done": "finished", "stopped": "interrupted", "bad": "cannot be read",
    }  # fmt: skip
    cells = [cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in rows["done"]["cells"]]
    assert cells[0] == "90.00 %"
    assert cells[2:5] == ["model-1", "fashion-mnist", "MACs ≤ 1.4M, 6 min"]
    assert rows["done"]["cells"][0].small == "88.6 to 91.2"
    assert rows["bad"]["what"].startswith("run.toml is damaged")
    assert 'http-equiv="refresh"' not in text


def test_while_something_runs_the_page_loads_itself_again(folder: Path) -> None:
    with open_run(folder / "new", {"job": "train"}):
        text = write_index(folder).read_text()
    assert 'http-equiv="refresh"' in text
    assert "1 running, 1 finished, 1 interrupted and 1 cannot be read" in text


def test_a_page_of_someone_else_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    (folder / "index.html").write_text("<h1>mine</h1>")
    with pytest.raises(InputError, match="was not written by supernetic, and is not replaced"):
        write_index(folder)
    renew_index(folder)
    assert (folder / "index.html").read_text() == "<h1>mine</h1>"
    (folder / "index.html").unlink()
    (tmp_path / "target").write_text(MARK)
    (folder / "index.html").symlink_to(tmp_path / "target")
    with pytest.raises(InputError, match="is not replaced"):
        write_index(folder)
    assert (tmp_path / "target").read_text() == MARK


def test_it_is_renewed_only_where_there_is_one(folder: Path) -> None:
    renew_index(folder)
    assert not (folder / "index.html").exists()
    write_index(folder)
    (folder / "stopped" / "result.json").write_text("{}")
    renew_index(folder)
    assert "2 finished" in (folder / "index.html").read_text()
    renew_index(folder / "nowhere")


def test_names_cannot_speak_and_links_cannot_leave(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("javascript:alert(1)", "a b#c?d", "\u202egnp.exe"):
        path = make(f"runs/{name}")
        text = (path / "run.toml").read_text()
        (path / "run.toml").write_text(text.replace('"fashion-mnist"', json.dumps(NASTY)))
        write_report(path)
    odd = os.fsencode(folder) + b"/\xff\xfe"
    os.mkdir(odd)
    with open(odd + b"/run.toml", "w") as file:
        file.write("job = 'train'")
    page_file = write_index(folder)
    text = page_file.read_text()
    links = Links(text)
    assert len(links.found) == 3
    assert all(link.startswith("./") and (folder / unquote(link)).exists() for link in links.found)
    assert links.tags.count("script") == 1
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert not re.search(r"https?:|@import|url\(", text)


def test_odd_numbers_give_a_row() -> None:
    huge = BestModel("model-1", 50.0, True, 10**400, 10**400, None)
    rows = page("runs", [RunLine("a", "finished", model=huge, began=1e300), RunLine("b", "finished")])["rows"]
    assert rows[0]["state"] == "cannot be read"
    assert rows[1]["state"] == "finished"
    at = page("runs", [], datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))["at"]
    assert at == "2026-01-02 03:04:05 UTC"


def test_texts_are_short_and_visible() -> None:
    assert clean("a\nb\x1b[31m") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m"
    assert len(clean("x" * 10_000)) == 201
    assert clean("\udcff") == "?"


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_with_the_accuracy_in_sight(folder: Path, browser: Any, dark: bool) -> None:
    file = write_index(folder)
    browser.open(file, width=400, dark=dark)
    assert browser.log("browser") == []
    assert browser.requests() == [file.as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") == 400
    right = browser.run("return document.querySelector('tbody td:nth-child(2)').getBoundingClientRect().right")
    assert right <= 400


def test_the_order_survives_loading_again(folder: Path, browser: Any) -> None:
    browser.open(write_index(folder))
    names = "return [...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].dataset.sort)"
    browser.run("document.querySelector('th button').click()")
    assert browser.run(names) == ["bad", "done", "stopped"]
    browser.run("document.querySelector('th button').click()")
    assert browser.run(names) == ["stopped", "done", "bad"]
    browser.run("location.reload()")
    assert browser.run(names) == ["stopped", "done", "bad"]
    assert browser.run("return document.querySelector('th').getAttribute('aria-sort')") == "descending"
