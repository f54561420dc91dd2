from pathlib import Path
from typing import Any

import pytest

from supernetic.tracking import Row
from supernetic.tracking.mlflow import MLflow

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what it says of others is not our matter
mlflow = pytest.importorskip("mlflow")


@pytest.fixture(autouse=True)
def _own_database(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow  # making the database takes ten seconds
def test_the_database_beside_the_run_has_everything(tmp_path: Path) -> None:
    run = tmp_path / "photos"
    tracker = MLflow()
    identifier = tracker.begin(run, {"seed": 3, "recipe": {"lr": 0.1}}, "")
    tracker.log("supernet", [Row(step, {"loss": 1 / step}) for step in range(1, 1502)])
    tracker.close()  # an interruption

    client: Any = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    (found,) = client.search_runs([client.get_experiment_by_name("supernetic").experiment_id])
    assert found.info.run_id == identifier
    assert (found.info.run_name, found.info.status) == ("photos", "KILLED")
    assert found.data.params == {"seed": "3", "recipe.lr": "0.1"}

    again = MLflow()
    assert again.begin(run, {"seed": 3}, identifier) == identifier
    again.log("supernet", [Row(1502, {"loss": 0.5})])
    again.finish({"loss": 0.25})
    again.close()
    history = client.get_metric_history(identifier, "supernet/loss")
    assert sorted(m.step for m in history) == list(range(1, 1503))
    assert client.get_run(identifier).data.metrics["result/loss"] == 0.25
    assert client.get_run(identifier).info.status == "FINISHED"
    assert not any(p.name == "mlruns" for p in Path().iterdir())

    unknown = MLflow()  # as of a run from another database
    assert unknown.begin(tmp_path / "other", {}, "0" * 32) not in ("0" * 32, identifier)
    unknown.close()
