from __future__ import annotations

import json
from dataclasses import asdict, replace

from supernetic.selection.agreement import contests
from supernetic.selection.decision import decide
from supernetic.selection.profiles import Profiles
from supernetic.selection.scores import METRICS
from supernetic.selection.summary_text import sentences

from .conftest import Make

CROSSING = {"small": (0.6, 1.0), "large": (0.3, 6.0), "poor": (1.2, 2.0)}


def said(profiles: Profiles) -> list[str]:
    """The sentences about the facts as a record keeps them."""
    facts = {
        "models": profiles.models,
        "sizes": profiles.sizes,
        "seeds": profiles.seeds,
        "table": {
            metric: dict(zip(profiles.models, profiles.means[i].tolist(), strict=True))
            for i, metric in enumerate(METRICS)
        },
        "decision": asdict(decide(profiles)),
        "contests": [asdict(c) for c in contests(profiles)],
    }
    return sentences(json.loads(json.dumps(facts)))


def test_what_is_significant_is_said_to_be(make: Make) -> None:
    text = said(make(CROSSING, noise=0.002))
    assert text[0].startswith("Take large: calibrated cross-entropy 0.51")
    assert "significantly better than all others" in text[1]
    assert "From 400 images on" in text[2]
    assert "significantly so from 400 on" in text[2]
    assert "the error rate names it from 400 on" in text[2]
    assert text[3].endswith("not significant (the 95 % interval includes 0).")
    assert "2 times the data would be worth" in text[4]
    assert "bits per label" in text[5]


def test_what_is_not_significant_is_said_too(make: Make) -> None:
    close = said(make({"a": (0.5, 4.0), "b": (0.501, 4.0), "c": (2.0, 4.0)}, noise=0.05))
    assert "is not significant (the 95 % interval includes 0): it is the best in" in close[1]
    assert close[3].endswith("not significant.")  # the reason is told once
    alone = said(make(CROSSING, seeds=(1, 1, 1, 1), noise=0))
    assert "only one seed" in alone[1]
    p = make(CROSSING)
    short = said(replace(p, sizes=(100,), cells={k: v for k, v in p.cells.items() if k[1] == 100}))
    assert any("There is only one size" in s for s in short)
    assert any("one size is too few for a learning curve" in s for s in short)


def test_less_data_that_would_have_misled_is_named(make: Make) -> None:
    text = said(make({"small": (0.6, 1.0), "large": (0.3, 8.5)}, noise=0.001))
    assert text[0].startswith("Take large: ")
    assert text[2].startswith("No smaller size names it as the best, so less data would have misled")
