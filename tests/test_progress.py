from supernetic.progress import Event, ignore


def test_an_event_is_one_line() -> None:
    assert str(Event("plan", "5 networks")) == "5 networks"
    assert str(Event("compare", item="model-1", done=1200, total=3000)) == "compare model-1: 1,200 of 3,000"
    assert str(Event("train", "loss 0.31", done=10, total=20)) == "train: 10 of 20, loss 0.31"
    ignore(Event("plan"))
