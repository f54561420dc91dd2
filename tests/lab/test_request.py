import pytest

from supernetic.errors import InputError
from supernetic.lab.request import StudyRequest


def test_a_request_is_recorded_and_restored() -> None:
    request = StudyRequest("some/study.toml", workers=2)
    assert StudyRequest.from_record(request.record()) == request
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        StudyRequest("study.toml", workers=0)
