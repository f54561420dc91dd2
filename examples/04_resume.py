"""Interruptions: a search is killed (-9) in the middle, resumed, and ends with the same weights, byte for byte.

    python examples/04_resume.py

`supernetic resume RUN` does the same from the command line, after Ctrl-C or a reboot. Half a minute of
processor time.
"""

import subprocess
import sys
import time
from pathlib import Path

import supernetic

SETTINGS = {
    "space": "macro:channels=4,resolution=8,head=16",
    "where": ["macs<=60K"],
    "steps": 40,
    "population": 6,
    "generations": 1,
    "keep": 1,
    "retrain": "none",  # the model keeps the supernet's weights
    "limit": 400,
    "threads": 1,
}
OUT = Path("runs/example-04")


def killed(run: Path) -> None:
    """Start the search in a process of its own, and kill it once it has trained for a while."""
    code = f"import supernetic; supernetic.search(**{SETTINGS!r}, out={str(run)!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    while not (run / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    step = sum(1 for _ in (run / "metrics.jsonl").open())
    print(f"killed after {step} records of training; finished: {(run / 'result.json').exists()}")


def main() -> None:
    supernetic.search(**SETTINGS, out=OUT / "undisturbed")
    killed(OUT / "killed")
    supernetic.resume(OUT / "killed", on_event=print)
    for name in ("supernet.safetensors", "trials.jsonl", "models/model-1/model.safetensors"):
        one, other = ((OUT / run / name).read_bytes() for run in ("undisturbed", "killed"))
        print(f"{name}: {'the same' if one == other else 'DIFFERENT'}, {len(one):,} bytes")


if __name__ == "__main__":
    main()
