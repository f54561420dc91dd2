import json
from pathlib import Path

import pytest

from supernetic.runs.records import NetworkRecord
from supernetic.scaling.accounting import accounting


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
    networks = [
        NetworkRecord("s0", "chosen", arch=(0,), key="x"),
        NetworkRecord("s1", "chosen", arch=(1,), key="abc"),
        NetworkRecord("s2", "chosen", key="y"),
        NetworkRecord("compound-1", "compound", key="z"),
    ]
    rows = {r["what"]: r["seconds"] for r in accounting(tmp_path, networks)}
    assert rows["training and search"] == 400
    assert rows["a search for each size"] == 800  # two were searched, one follows by curves
    assert rows["compound coefficients by grid"] == pytest.approx(10_285 * 12)
    assert rows["retraining, controls included"] == 200
