from __future__ import annotations

from dataclasses import dataclass

import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.settings import with_settings


@dataclass(frozen=True)
class Thing:
    name: str = "thing"
    n: int = 1
    share: float = 0.5
    exact: bool = False
    sizes: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    inner: object = None


def test_values_are_read_by_the_type_of_their_field() -> None:
    text = "n=3,share=.25,exact=true,sizes=1+2,words=a+b"
    assert with_settings(Thing(), "thing", text) == Thing("thing", 3, 0.25, True, (1, 2), ("a", "b"))
    plain = Thing(n=2)
    assert with_settings(plain, "thing", "") is plain


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("n=two", "thing: n must be a whole number, got 'two'"),
        ("n=0", "thing: n must be positive, got 0"),
        ("sizes=1+x", "thing: sizes must be a whole number, got 'x'"),
        ("exact=1", "thing: exact must be true or false, got '1'"),
        ("n", "settings of thing are key=value,..., got 'n'"),
    ],
)
def test_bad_values_are_named(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        with_settings(Thing(), "thing", text)


@pytest.mark.parametrize("text", ["m=1", "name=other", "inner=1"])
def test_what_text_cannot_change_is_unknown(text: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown setting of thing"):
        with_settings(Thing(), "thing", text)
