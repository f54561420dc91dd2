from supernetic.text import columns, csv_text, duration, number


def test_durations_for_people() -> None:
    assert [duration(s) for s in (0.2, 89, 91, 5399, 5401)] == ["0 s", "89 s", "2 min", "90 min", "1.5 h"]
    assert [duration(s) for s in (59, 600, 8000)] == ["59 s", "10 min", "2.2 h"]


def test_columns_are_aligned() -> None:
    assert columns([["a", "name"], ["100", "x"]]) == ["  a  name", "100  x"]


def test_csv_quotes_what_needs_it_and_leaves_out_what_is_undefined() -> None:
    assert csv_text(("a", "b"), [("x,y", number(1 / 3)), ("", number(float("nan")))]) == 'a,b\n"x,y",0.333333\n,\n'
