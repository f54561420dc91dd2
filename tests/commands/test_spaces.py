import pytest

from supernetic.commands.spaces import list_spaces


def test_spaces_are_listed_with_exact_sizes() -> None:
    records = {r["name"]: r for r in list_spaces()}
    assert records["nasbench201"]["size"] == 15_625
    assert records["scarlet-s1"]["size"] == 7**19
    assert records["scarlet-s2"]["size"] == 13**19
    assert records["attentive"]["size"] == 440_301_256_704
    assert records["scalenet"]["size"] == 22_620**5 * 72 * 271
    assert records["attentive"]["size_log10"] == pytest.approx(11.644, abs=1e-3)
    assert all({"name", "size", "size_log10", "choices", "paper"} <= r.keys() for r in records.values())
    assert "scarlet-a4" in records["scarlet-s2"]["named"]
