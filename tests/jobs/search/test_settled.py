"""What a dry run settles is what the run's settings say."""

from __future__ import annotations

from typing import Any

import pytest

from supernetic.jobs.search.job import SearchJob
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.search.settled import settled_search
from supernetic.progress import ignore

TINY: dict[str, Any] = {
    "space": "macro:channels=4,resolution=8,head=16",
    "population": 4,
    "generations": 2,
    "network_steps": 2,
    "limit": 200,
    "augment": "none",
    "workers": 1,
}


@pytest.mark.parametrize("supernet", [True, False])
def test_settings_that_were_left_open(supernet: bool) -> None:
    changes: dict[str, Any] = {"steps": 3} if supernet else {"supernet": "no"}
    job = SearchJob.prepare(SearchRequest(**TINY, **changes), ignore)
    plan = job.plan(None, 0.0)
    settings, settled = job.settings(plan), settled_search(job, plan)
    assert settled["objectives"].value == settings["objectives"]
    assert settled["keep"].value == settings["keep"]
    assert settled["retrain"].value == "scratch"
    assert settled["retrain_recipe"].value["lr"] == settings["retrain_recipe"]["lr"]
    assert settled["supernet"].value == ("yes" if supernet else "no")
    assert settled["supernet"].reason
    if supernet:
        assert settled["sampler"].value == settings["recipe"]["sampler"]
        assert settled["steps"].value == 3
    else:
        assert settled["sampler"].value is None
        assert settled["recipe"].reason == "no supernet is trained"
    assert settled["space"].value is None, "it was given"
