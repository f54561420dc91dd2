from pathlib import Path

from supernetic.tracking import Recorder, Row, Tracker


def test_it_keeps_everything() -> None:
    recorder = Recorder()
    tracker: Tracker = recorder  # the protocol fits
    tracker.begin(Path("run"), {"seed": 1}, "")
    tracker.log("supernet", [Row(1, {"loss": 2.0})])
    tracker.log("supernet", [Row(2, {"loss": 1.0})])
    tracker.finish({"loss": 1.0})
    assert recorder.settings == {"seed": 1}
    assert [row.step for row in recorder.rows["supernet"]] == [1, 2]
    assert recorder.results == {"loss": 1.0}
