from __future__ import annotations

from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.jobs.search.request import SearchRequest


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"data": 3}, "the recorded request says nothing that data can be: 3"),
        ({"data": "embedded", "space": 7}, "the recorded request says nothing that space can be: 7"),
        ({"data": "embedded", "colour": "red"}, "the recorded request has an unknown setting: colour"),
    ],
)
def test_recorded_requests_that_say_nothing(record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        SearchRequest.from_record(record)
    assert str(raised.value) == message


def test_a_recorded_request_is_read() -> None:
    assert SearchRequest.from_record({"data": "embedded", "space": "macro"}).space == "macro"
