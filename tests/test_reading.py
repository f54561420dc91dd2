from __future__ import annotations

import os
from pathlib import Path

import pytest

from supernetic.reading import exists, parse_json, parse_toml, read_bytes, read_json, read_text, read_toml, reason


def test_plain_files_are_read_as_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes('{"ä": 1}'.encode())
    assert read_json(tmp_path / "a.json") == {"ä": 1}
    assert read_text(tmp_path / "a.json") == '{"ä": 1}'
    (tmp_path / "a.toml").write_bytes('x = "ä"'.encode())
    assert read_toml(tmp_path / "a.toml") == {"x": "ä"}


def test_a_link_to_a_plain_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    assert read_bytes(tmp_path / "b") == b"x"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_pipes_devices_and_directories_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "pipe", "no plain file"),
        (Path("/dev/zero"), "no plain file"),
        (tmp_path, "director"),
    ):
        with pytest.raises(OSError, match=words):
            read_bytes(path)


def test_names_that_no_file_can_have() -> None:
    for name in ("a\0b", "x" * 300):
        with pytest.raises(OSError):
            read_bytes(name)
        assert not exists(name)
        assert not exists(f"{name}/y")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(OSError, match="5 bytes, more than 4"):
        read_bytes(tmp_path / "a", 4)


def test_deep_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml("a = " + "[" * 5000)


def test_reasons_are_one_line_without_the_name() -> None:
    assert reason(FileNotFoundError(2, "No such file or directory", "a/b")) == "No such file or directory"
    assert reason(ValueError("two\n lines")) == "two lines"
