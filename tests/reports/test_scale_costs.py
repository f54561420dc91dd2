import json
from pathlib import Path
from typing import Any

import pytest

from supernetic.reports.scale_costs import accounting


def write(path: Path, records: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records))


def test_in_the_terms_of_appendix_g(tmp_path: Path) -> None:
    times = {"train": 300, "search": 100, "compare": 200}
    write(
        tmp_path / "timings.jsonl",
        [*({"task": k, "seconds": v} for k, v in times.items()), {"evaluations": 3, "seconds": 9}],
    )
    write(tmp_path / "networks/abc/timings.jsonl", [{"seconds": 5.0}, {"seconds": 7.0}])
    networks: list[dict[str, Any]] = [
        {"name": "s0", "role": "chosen", "arch": [0], "key": "x"},
        {"name": "s1", "role": "chosen", "arch": [1], "key": "abc"},
        {"name": "s2", "role": "chosen", "arch": None, "key": "y"},
        {"name": "compound-1", "role": "compound", "arch": None, "key": "z"},
    ]
    rows = {r["what"]: r["seconds"] for r in accounting(tmp_path, networks)}
    assert rows["training and search"] == 400
    assert rows["a search for each size"] == 800  # two were searched, one follows by curves
    assert rows["compound coefficients by grid"] == pytest.approx(10_285 * 12)
    assert rows["retraining, controls included"] == 200
