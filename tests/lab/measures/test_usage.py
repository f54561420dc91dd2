from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.lab.job import study
from supernetic.lab.measures.usage import OperationUsage


def test_usage_is_counted_from_the_table() -> None:
    """The top 10 by hand: their strings, counted."""
    found = OperationUsage("c10_test_200", sizes=(10,))(Path(), catalog.space("nasbench201"), lambda *_: None)
    table = catalog.table("nasbench201")
    best = sorted(range(len(table)), key=lambda r: -table["c10_test_200"].values[r])[:10]
    texts = [table.space.format(tuple(table.archs[r].tolist())) for r in best]
    for op in table.space.choices[0].options:
        assert found.values[f"usage/{op}@10"] == sum(str(op) in t for t in texts) / 10
        assert found.values[f"share/{op}@10"] == pytest.approx(sum(t.count(str(op)) for t in texts) / 60)
        assert found.values[f"share5/{op}@10"] == pytest.approx(sum(t.count(str(op)) for t in texts) / 50)


def test_a_study_of_a_table_trains_nothing(tmp_path: Path) -> None:
    file = tmp_path / "usage.toml"
    file.write_text(
        'title = "Usage"\nbase = { space = "nasbench201" }\n[measure]\nkind = "usage"\ntruth = "c10_test_200"\n'
        '[[claims]]\ntext = "shares are shares"\nmetric = "share/none@10"\nvariant = "all"\nat_most = 1\n'
    )
    result = study(file, out=tmp_path / "out")
    assert (result.trainings, result.claims[0]["verdict"]) == (0, "held")
    assert "nor_conv_3x3" in (tmp_path / "out/report.html").read_text()
    assert not (tmp_path / "trainings").exists()


def test_spaces_without_operations_are_refused() -> None:
    with pytest.raises(InputError, match="same options"):
        OperationUsage("x").check(catalog.space("attentive"))
    with pytest.raises(InputError):
        OperationUsage("x", sizes=())
