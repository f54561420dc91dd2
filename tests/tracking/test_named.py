import sys

import pytest

from supernetic.errors import InputError
from supernetic.tracking import TRACKERS, open_trackers, require_trackers


@pytest.mark.parametrize(("name", "extra"), [("tensorboard", "tracking"), ("wandb", "wandb"), ("mlflow", "mlflow")])
def test_a_tracker_that_is_missing_names_its_extra(name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, TRACKERS[name].package, None)
    with pytest.raises(InputError, match=rf"is not installed: pip install 'supernetic\[{extra}\]'"):
        require_trackers([name])


def test_names_are_checked() -> None:
    with pytest.raises(InputError, match=r"tensorbord.*tensorboard"):
        require_trackers("tensorbord")
    pytest.importorskip("tensorboard")
    with pytest.raises(InputError, match="each tracker must have another name, got tensorboard, tensorboard"):
        require_trackers(["tensorboard", "tensorboard"])


def test_no_tracker_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_trackers(()) == []
    pytest.importorskip("tensorboard")
    (tracker,) = open_trackers("tensorboard")
    assert tracker.name == "tensorboard"
    assert open_trackers([tracker]) == open_trackers(tracker) == [tracker]
