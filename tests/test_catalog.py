from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.errors import InputError, UnknownNameError
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.testing import check_space


@pytest.mark.parametrize("name", catalog.SPACES)
def test_every_space_keeps_the_contract(name: str) -> None:
    check_space(catalog.space(name), n=100 if name == "nasbench101" else 1000)


@pytest.mark.parametrize(
    "text",
    [
        "nasbench201:share_cells=false,cells=2,channels=8",
        "nasbench201:without=none+avg_pool_3x3,aggregate=mean,affine=false",
        "macro:channels=8,resolution=16,in_channels=1",
        "scarlet-s1:resolution=32,width=0.25,classes=10",
        "attentive:resolutions=24+32,width=0.5,classes=10,in_channels=1",
        "nasbench101-chain:channels=8,resolution=16",
        "scalenet-base:resolution=32,classes=10",
        "efficientnet:spatial=floor",
        "mixed:channels=4,resolution=15,in_channels=1",
    ],
)
def test_reduced_variants_keep_it_too(text: str) -> None:
    check_space(catalog.space(text), n=100)


def test_every_entry_can_be_loaded() -> None:
    for kind, names in (("space", catalog.SPACES), ("searcher", catalog.SEARCHERS), ("table", catalog.TABLES)):
        for name in names:
            assert callable(catalog.load(kind, names, name))


def test_settings_are_read_by_type() -> None:
    assert catalog.space("nasbench201:without=none,cells=2") == NASBench201(without=("none",), cells=2)
    assert catalog.space("attentive:resolutions=24+32,width=.5") == Attentive(resolutions=(24, 32), width=0.5)
    assert catalog.space(NASBench201()) == NASBench201()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nasbench21", "did you mean 'nasbench201'"),
        ("nasbench201:cell=2", "did you mean 'cells'"),
        ("nasbench201:cells=two", "must be a whole number"),
        ("nasbench201:cells=0", "must be positive"),
        ("nasbench201:affine=1", "must be true or false"),
        ("nasbench201:cells", "key=value"),
        ("nasbench201:without=pool", "unknown operation 'pool'"),
        ("nasbench201:without=none+skip_connect+nor_conv_1x1+nor_conv_3x3+avg_pool_3x3", "at least one operation"),
        ("", "say which space"),
        ("missing.toml", "missing.toml"),
    ],
)
def test_bad_spaces(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        catalog.space(text)


def test_tables(tmp_path: Path) -> None:
    masked = catalog.table("nasbench201", catalog.space("nasbench201:without=none"))
    assert len(masked) == 4**6
    assert len(catalog.table("macro")) == 3**8
    with pytest.raises(UnknownNameError, match="did you mean 'macro'"):
        catalog.table("macros")
    with pytest.raises(InputError, match="which space"):
        catalog.table("mine.csv")
    with pytest.raises(InputError, match="holds architectures of"):
        catalog.table("macro", NASBench201())
