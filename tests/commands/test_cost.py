import pytest

import supernetic
from supernetic.commands.cost import cost
from supernetic.errors import ArchError, InputError


def test_an_architecture_by_name_notation_or_integers() -> None:
    by_name = cost("macro", "macro-best")
    assert by_name.macs == cost("macro", "22212202").macs == cost("macro", "2,2,2,1,2,2,0,2").macs
    assert by_name.macs == cost("macro", (2, 2, 2, 1, 2, 2, 0, 2)).macs == 85_164_544
    assert supernetic.cost("macro", "macro-best").params == by_name.params == 1_985_514


@pytest.mark.parametrize(
    ("name", "macs", "params"), [("scarlet-a2", 1.048e9, 12.51e6), ("scarlet-a4", 4.184e9, 27.86e6)]
)
def test_up_scaled_names(name: str, macs: float, params: float) -> None:
    report = cost("scarlet-s2", name)
    assert report.macs == pytest.approx(macs, rel=1e-3)
    assert report.params == pytest.approx(params, rel=1e-3)
    by_hand = cost("scarlet-s2", "scarlet-a", report.scale)
    assert by_hand.macs == report.macs


def test_json_is_plain() -> None:
    record = cost("nasbench201", "all-conv3x3").to_json()
    assert record["macs"] == sum(r["macs"] for r in record["layers"]) == 220_119_680
    assert isinstance(record["arch"], list)
    assert "blueprint" not in record


def test_bad_input() -> None:
    with pytest.raises(ArchError, match="8 integers"):
        cost("macro", "222")
    with pytest.raises(ArchError, match=r"layer0 must lie in 0..2, got 7"):
        cost("macro", "72212202")
    with pytest.raises(InputError):
        cost("macro", "macro-best", "depht=2")
