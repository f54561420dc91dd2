from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

SCRIPT = """
import sys, time
from supernetic.parallel.cluster import cluster
from supernetic.parallel.workers import map_in_workers

notes = sys.argv[1]

def work(item, report):
    import os
    with open(notes + f"/{os.getpid()}", "w") as file:
        file.write(str(os.getppid()))
    time.sleep(60)

with cluster("local:2"):  # without a guard for __main__: workers do not run this script again
    map_in_workers(work, [0, 1], 1)
"""


@pytest.mark.slow
def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "script.py").write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py"), str(tmp_path / "notes")])
    until = time.monotonic() + 60
    while len(list((tmp_path / "notes").iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    notes = list((tmp_path / "notes").iterdir())
    assert len(notes) == 2
    involved = {int(note.name) for note in notes} | {int(note.read_text()) for note in notes}
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 20
    while any(_lives(pid) for pid in involved) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in involved if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
