from supernetic.errors import InputError, UnknownNameError


def test_unknown_names_suggest_the_nearest() -> None:
    assert str(UnknownNameError("space", "nasbench21", ["macro", "nasbench201"])).endswith(
        "did you mean 'nasbench201'?"
    )
    assert str(UnknownNameError("space", "ATTENTIVE", ["attentive"])).endswith("did you mean 'attentive'?")


def test_or_list_what_there_is() -> None:
    assert str(UnknownNameError("metric", "zzz", ["b", "a"])) == "unknown metric 'zzz': choose from a, b"
    assert str(UnknownNameError("metric", "zzz", [])).endswith("there is no metric here")
    assert str(UnknownNameError("metric", "zzz", map(str, range(100, 130)))).endswith(", ...")


def test_they_are_bad_input() -> None:
    assert issubclass(UnknownNameError, InputError)
