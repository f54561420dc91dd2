import json
from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.errors import RunError
from supernetic.timing.lookup import LatencyTable, reachable_layers
from supernetic.timing.tables import latency_table

SPACE = catalog.space("macro:channels=8,resolution=16")


def test_tables_from_objects_files_and_runs(tmp_path: Path) -> None:
    layers = dict.fromkeys(reachable_layers(SPACE), 0.1)
    table = LatencyTable(SPACE.fingerprint, "onnx", 1, 1, len(layers), layers)
    (tmp_path / "latency.jsonl").write_text("".join(json.dumps(r) + "\n" for r in table.to_records()))
    network: Blueprint = SPACE.blueprint((1,) * 8)
    for source in (table, tmp_path, str(tmp_path / "latency.jsonl")):
        assert latency_table(SPACE, source).ms(network) == table.ms(network)
    with pytest.raises(RunError, match="another space"):
        latency_table(catalog.space("macro"), tmp_path)
    with pytest.raises(RunError, match="does not exist"):
        latency_table(SPACE, tmp_path / "nothing")
