"""The page of a transfer; tests/jobs/transfer/test_job.py writes one of a real run."""

from pathlib import Path

import pytest

from supernetic.errors import RunError
from supernetic.reports.transfer import write_transfer


def test_a_run_that_is_not_finished_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"networks\.json is missing"):
        write_transfer(tmp_path)
