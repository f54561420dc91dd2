from supernetic.text import columns, csv_text, duration, number, printable


def test_durations_for_people() -> None:
    assert [duration(s) for s in (0.2, 89, 91, 5399, 5401)] == ["0 s", "89 s", "2 min", "90 min", "1.5 h"]
    assert [duration(s) for s in (59, 600, 8000)] == ["59 s", "10 min", "2.2 h"]


def test_columns_are_aligned() -> None:
    assert columns([["a", "name"], ["100", "x"]]) == ["  a  name", "100  x"]


def test_csv_quotes_what_needs_it_and_leaves_out_what_is_undefined() -> None:
    assert csv_text(("a", "b"), [("x,y", number(1 / 3)), ("", number(float("nan")))]) == 'a,b\n"x,y",0.333333\n,\n'


def test_cells_that_a_spreadsheet_would_compute_are_made_harmless() -> None:
    text = csv_text(["a", "b"], [["=1+1", "-3.5"], ["@x", -2], ["+cmd", "-"], ["plain", "1e5"]])
    assert text.splitlines() == ["a,b", "'=1+1,-3.5", "'@x,-2", "'+cmd,'-", "plain,1e5"]


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert printable("a\x1b[31mb\nc\td\x9b\u202e") == "a\\x1b[31mb\nc\td\\x9b\\u202e"
    assert printable("caf\udce9") == "caf\\udce9"
