from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.errors import RunError
from supernetic.reports.rendering import fill, flat, script_json, write_page


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"report\.html cannot be written: No such file or directory"):
        write_page(tmp_path / "nowhere" / "report.html", "x")


def test_data_cannot_end_their_script() -> None:
    assert script_json({"a": "</script><b>&"}) == '{"a":"\\u003c/script\\u003e\\u003cb\\u003e\\u0026"}'


def test_settings_become_dotted_names() -> None:
    table = {"a": {"b": 1200, "c": [1, 2]}, "d": [{"e": True}]}
    assert list(flat(table)) == [("a.b", "1,200"), ("a.c", "1, 2"), ("d.1.e", "True")]


def test_a_page_allows_its_own_script_alone() -> None:
    text = fill("base.html.j2", {"title": "<x>", "place": "&"})
    assert "<title>&lt;x&gt;</title>" in text
    assert "default-src &#39;none&#39;" in text
