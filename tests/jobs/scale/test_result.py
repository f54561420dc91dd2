from pathlib import Path

import pytest

from supernetic.errors import RunError
from supernetic.jobs.scale.result import Family, fits, read_family


def test_lines(finished: Family) -> None:
    text = str(finished)
    assert "a family of 2 models" in text
    assert "stages beyond the searched ones follow a^j" in text
    assert "compound coefficients by grid" in text


def test_every_member_has_diagnostics(finished: Family) -> None:
    assert list(finished.diagnostics) == [n.name for n in finished.networks]
    for name, model in finished.models.items():
        tested = next(n.test for n in finished.networks if n.name == name)
        assert tested is not None
        assert model.diagnostics.accuracy == pytest.approx(tested["test/accuracy"])
    page = finished.report.read_text()
    section = page[page.index('id="section-diagnostics"') :]
    assert section.count("<details><summary><strong>") == len(finished.networks)  # none is recommended


def test_curves_in_words() -> None:
    curves = [
        {"family": "linear", "formula": "1 + a j", "left_out": 0.02},
        {"family": "exponential", "formula": "a^j", "left_out": 0.034},
    ]
    assert list(fits({"curve": "exponential", "curves": curves})) == [
        "stages beyond the searched ones follow a^j; a stage left out is missed by 3.4 %",
        "the least such error is that of 1 + a j: 2.0 %",
    ]


def test_an_unfinished_run(finished: Family, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes((Path(finished.run) / "run.toml").read_bytes())
    with pytest.raises(RunError, match="is not finished"):
        read_family(tmp_path)
