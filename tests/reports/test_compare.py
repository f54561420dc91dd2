from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import InputError, RunError
from supernetic.reports.compare import compare_report, comparison, run_names
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_two_runs_side_by_side(make: Make, tmp_path: Path) -> None:
    a, b = make("a"), make("b", seed=1, n=300)
    page = compare_report([a, b], tmp_path / "both.html")
    text = page.read_text()
    HTMLParser().feed(text)
    assert "<h1>a and b</h1>" in text
    assert text.count('class="stairs run') == 2
    made = comparison([read_run(a), read_run(b)])
    rows = dict(made["rows"])
    assert rows["architectures scored"] == ["400", "300"]
    assert rows["best test accuracy"][0] != rows["best test accuracy"][1]
    assert [name for name, _ in made["differences"]] == ["seed"]


def test_volumes_are_compared_only_from_the_same_reference(make: Make) -> None:
    a, b = read_run(make("a")), read_run(make("b"))
    c = read_run(make("c", seed=1))
    assert "hypervolume" in dict(comparison([a, b])["rows"])
    assert "hypervolume" not in dict(comparison([a, c])["rows"])


def test_runs_that_have_only_begun_are_compared_too(make: Make) -> None:
    made = comparison([read_run(make("a")), read_run(make("b", until="plan"))])
    assert made["front"]
    assert dict(made["rows"])["on the front"][1] == "–"


def test_runs_of_different_data_are_not_drawn_over_one_another(make: Make, tmp_path: Path) -> None:
    a, b, c = make("a"), make("b", seed=1), make("c", seed=2)
    (b / "run.toml").write_text((b / "run.toml").read_text().replace("fashion-mnist", "cifar10"))
    (c / "run.toml").write_text((c / "run.toml").read_text().replace("0123456789abcdef", "fedcba9876543210"))
    same = comparison([read_run(a), read_run(a)])
    assert same["results"]
    assert same["front"]
    assert same["note"] == ""
    other = comparison([read_run(a), read_run(b)])
    assert other["note"].startswith("These runs are of different data (a: fashion-mnist and b: cifar10).")
    assert other["front"] == other["results"] == ""
    assert dict(other["rows"])["data"] == ["fashion-mnist", "cifar10"]
    renamed = comparison([read_run(a), read_run(c)])
    assert "The data have the same name, but their fingerprints differ." in renamed["note"]
    assert "not drawn in one plot" in compare_report([a, c], tmp_path / "ac.html").read_text()


def test_runs_of_the_same_name_are_told_apart(make: Make, tmp_path: Path) -> None:
    for parent in ("x", "y"):
        (tmp_path / parent).mkdir()
    runs = [read_run(make(f"{parent}/run")) for parent in ("x", "y")]
    assert run_names(runs) == ["x/run", "y/run"]


def test_nothing_to_compare(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes 2 to 6 runs, got 1"):
        compare_report([make()], tmp_path / "x.html")
    with pytest.raises(RunError, match="cannot be written"):
        compare_report([make("a"), make("b")], tmp_path / "no" / "x.html")


def test_it_fits_a_phone_and_asks_for_nothing(make: Make, tmp_path: Path, browser: Any) -> None:
    page = compare_report([make("a"), make("b", seed=1)], tmp_path / "both.html")
    browser.open(page, width=380)
    assert browser.log("browser") == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") == 380
