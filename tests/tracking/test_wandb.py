from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from supernetic.tracking import Row
from supernetic.tracking.wandb import WeightsAndBiases

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what it says of others is not our matter
wandb = pytest.importorskip("wandb")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("WANDB_DIR", "WANDB_PROJECT", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    return tmp_path


def messages(data: bytes) -> Iterator[bytes]:
    """The messages of W&B's file, in LevelDB's log format: blocks of 32 KiB, a message in one piece or several."""
    place, message = 7, b""  # after W&B's own header
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        length, kind = struct.unpack_from("<HB", data, place + 4)  # after a checksum
        if left < 7 or kind == 0:
            place += left
            continue
        message += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield message
            message = b""


def recorded(folder: Path) -> tuple[list[dict[str, str]], dict[str, str], dict[str, str]]:
    """History rows, settings and summary of the one offline run in a folder."""
    format: Any = import_module("wandb.proto.wandb_internal_pb2")

    def names(items: Any) -> dict[str, str]:
        return {"/".join(i.nested_key) or i.key: i.value_json for i in items}

    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    until = monotonic() + 30
    while not any(format.Record.FromString(m).HasField("exit") for m in messages(file.read_bytes())):
        assert monotonic() < until, "W&B's own process did not write its file to the end"
        sleep(0.1)  # it goes on after `finish`
    history: list[dict[str, str]] = []
    config: dict[str, str] = {}
    summary: dict[str, str] = {}
    for message in messages(file.read_bytes()):
        record = format.Record.FromString(message)
        if record.HasField("history"):
            history.append(names(record.history.item))
        if record.HasField("run"):
            config |= names(record.run.config.update)
        if record.HasField("summary"):
            summary |= names(record.summary.update)
    return history, config, summary


def test_offline_everything_is_in_a_file_beside_the_run(offline: Path) -> None:
    tracker = WeightsAndBiases()
    identifier = tracker.begin(offline / "photos", {"seed": 3}, "")
    tracker.log("networks/ab", [Row(5, {"loss": 2.5}), Row(10, {"loss": 2.25, "valid/accuracy": 0.5})])
    tracker.finish({"networks/model-1/macs": 7.0})
    tracker.close()
    assert [p.name.rpartition("-")[2] for p in offline.glob("wandb/offline-run-*")] == [identifier]
    history, config, summary = recorded(offline)
    rows = [(float(r["networks/ab/step"]), float(r["networks/ab/loss"])) for r in history]
    assert rows == [(5, 2.5), (10, 2.25)]
    assert config["seed"] == "3"
    assert float(summary["networks/model-1/macs"]) == 7


def test_an_earlier_run_goes_on_and_another_name_does_not(offline: Path) -> None:
    tracker = WeightsAndBiases()
    assert tracker.begin(offline / "photos", {}, "0123abcd") == "0123abcd"
    tracker.close()
    assert tracker.begin(offline / "photos", {}, "../../elsewhere") != "../../elsewhere"
    tracker.close()


@pytest.mark.slow
def test_without_an_account_it_says_what_to_do(offline: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from supernetic.tracking.wandb import WeightsAndBiases\n"
        "WeightsAndBiases().begin(Path('photos'), {}, '')"
    )
    own = {"HOME": str(offline), "NETRC": str(offline / "netrc"), "WANDB_BASE_URL": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **own, "WANDB_MODE": "online"},
        cwd=offline,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("supernetic.errors.InputError: Weights & Biases cannot start: "), done.stderr
    assert last.endswith("WANDB_MODE=offline needs no account")
