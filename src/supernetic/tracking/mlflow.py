"""MLflow: the SQLite file `mlflow.db` beside the run, or whatever `MLFLOW_TRACKING_URI` names.

mlflow ui --backend-store-uri sqlite:///runs/mlflow.db
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import time
from typing import Any

from .tracker import Row, flat_settings, shared_folder

EXPERIMENT = "supernetic"  # unless MLFLOW_EXPERIMENT_NAME names another
DATABASE = "mlflow.db"
ARTIFACTS = "mlartifacts"  # a folder that MLflow wants to know of; we put nothing into it
BATCH = 1000  # numbers that MLflow takes at a time
PARAMETERS = 100  # settings that it takes at a time
LONGEST = 500  # characters of a setting


class MLflow:
    """One run of MLflow for each job."""

    name = "mlflow"

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        """Start a run, or go on with an earlier one."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # tracking a job tells nobody else about it
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        folder, title = shared_folder(run)
        own = not os.environ.get("MLFLOW_TRACKING_URI")
        self.client: Any = MlflowClient(f"sqlite:///{folder / DATABASE}" if own else None)
        if earlier:
            try:
                self.client.update_run(earlier, status="RUNNING")
                self.id = earlier
                return self.id
            except MlflowException:
                pass  # another database: it begins anew there
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        experiment = self.client.get_experiment_by_name(name)
        place = (folder / ARTIFACTS).as_uri() if own else None
        number = experiment.experiment_id if experiment else self.client.create_experiment(name, place)
        self.id = str(self.client.create_run(number, run_name=title).info.run_id)
        self._log_settings(settings)
        return self.id

    def log(self, source: str, rows: Sequence[Row]) -> None:
        """Metrics such as `networks/KEY/loss`, with the steps of their training."""
        self._log_metrics((f"{source}/{name}", value, row.step) for row in rows for name, value in row.values.items())

    def finish(self, results: Mapping[str, float]) -> None:
        """The final numbers, as metrics of one step."""
        self._log_metrics((f"result/{name}", value, 0) for name, value in results.items())
        self.client.set_terminated(self.id, "FINISHED")

    def close(self) -> None:
        """A job that did not come to its end is one that was killed."""
        if self.client.get_run(self.id).info.status == "RUNNING":
            self.client.set_terminated(self.id, "KILLED")

    def _log_metrics(self, numbers: Iterable[tuple[str, float, int]]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time())
        for part in _parts((Metric(name, value, now, step) for name, value, step in numbers), BATCH):
            self.client.log_batch(self.id, metrics=part)

    def _log_settings(self, settings: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        texts = {name: str(value)[:LONGEST] for name, value in flat_settings(settings).items()}
        for part in _parts((Param(name, text) for name, text in texts.items()), PARAMETERS):
            self.client.log_batch(self.id, params=part)


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part
