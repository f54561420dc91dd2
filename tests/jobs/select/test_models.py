from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.datasets import Dataset, load
from supernetic.errors import InputError
from supernetic.jobs.select.models import DEFAULT_MODELS, joined_model_names, names_of, read_models


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load("embedded", limit=100, resolution=8)


def test_commas_part_models_but_not_their_settings() -> None:
    assert names_of("mlp:width=64+256,depth=1,resnet, nb101-1") == ["mlp:width=64+256,depth=1", "resnet", "nb101-1"]
    assert names_of("macro:channels=8/0,1,2,0,1,2,0,1,mine.py:wide") == [
        "macro:channels=8/0,1,2,0,1,2,0,1",
        "mine.py:wide",
    ]


def test_a_file_has_a_model_per_line(tmp_path: Path) -> None:
    file = tmp_path / "models.txt"
    file.write_text("logistic\n\n# a sweep\nmlp:width=8+16,depth=1  # two models\n")
    assert names_of(str(file)) == ["logistic", "mlp:width=8+16,depth=1"]
    assert joined_model_names([str(file), "mine.py"]) == "logistic,mlp:width=8+16,depth=1,mine.py"
    with pytest.raises(InputError, match=r"none\.txt: not readable as text"):
        names_of("none.txt")


def test_sweeps_become_models_for_the_data(data: Dataset) -> None:
    found = read_models(["mlp:width=8+16,depth=1", "logistic"], data)
    assert [m.name for m in found] == ["mlp:width=8,depth=1", "mlp:width=16,depth=1", "logistic"]
    assert {m.resolution for m in found} == {8}
    assert len(read_models(None, data)) == len(DEFAULT_MODELS) >= 6


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("logistic", "two models or more, got logistic"),
        ("mlp,logistic,mlp", "the model mlp is named twice"),
        ("mlp,logistic,mlp:depth=3", "mlp and mlp:depth=3 are the same model"),
        ("mlp,logstic", "did you mean 'logistic'"),
        ([], "got none"),
    ],
)
def test_what_cannot_be_compared_is_refused(data: Dataset, models: str | list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_models(models, data)
