import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs.macs import METRICS, cost
from supernetic.costs.table import LayerCost, costs_of, table_of
from supernetic.space import Archs, SequentialSpace


def test_every_architecture_of_small_spaces(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    some = archs[:: max(1, len(archs) // 300)]
    walked = [cost(space.blueprint(tuple(a))) for a in some.tolist()]
    for metric in METRICS:
        assert costs_of(space, some, metric).tolist() == [getattr(c, metric) for c in walked]


def test_a_price_is_added_up_over_the_layers(small: tuple[SequentialSpace, Archs], layer_cost: LayerCost) -> None:
    space, archs = small
    some = archs[:: max(1, len(archs) // 300)]
    walked = [layer_cost.base + sum(map(layer_cost.of, space.blueprint(tuple(a)))) for a in some.tolist()]
    assert costs_of(space, some, layer_cost).tolist() == walked
    assert table_of(space, layer_cost) is table_of(space, layer_cost)


def test_a_price_where_there_is_no_automaton(layer_cost: LayerCost) -> None:
    space = catalog.space("nasbench101")
    arch = space.named["inception"]
    expected = layer_cost.base + sum(map(layer_cost.of, space.blueprint(arch)))
    assert costs_of(space, np.array([arch], dtype=np.int8), layer_cost).tolist() == [expected]


def test_one_row_is_enough() -> None:
    space = catalog.space("attentive")
    assert costs_of(space, np.zeros(31, dtype=np.int8)).tolist() == [203_389_568]


def test_spaces_without_an_automaton_are_walked() -> None:
    space = catalog.space("nasbench101")
    arch = space.named["inception"]
    assert costs_of(space, np.array([arch, arch], dtype=np.int8), "params").tolist() == [2_694_282] * 2


def test_columns_and_genes_are_inverse() -> None:
    space = catalog.space("attentive")
    assert isinstance(space, SequentialSpace)
    for slot in table_of(space).slots:
        genes = slot.genes_of(np.arange(slot.options))
        archs = np.zeros((slot.options, 31), dtype=np.int8)
        for gene, values in zip(slot.genes, genes, strict=True):
            archs[:, gene] = values
        assert slot.option(archs).tolist() == list(range(slot.options))


def test_uniform_draws_from_attentive_have_the_known_distribution() -> None:
    space = catalog.space("attentive")
    macs = costs_of(space, space.sample(np.random.default_rng(0), 200_000)) / 1e6
    assert macs.mean() == pytest.approx(738, rel=0.01)
    assert macs.std() == pytest.approx(244, rel=0.01)
    assert np.percentile(macs, [1, 99]) == pytest.approx([347, 1331], rel=0.01)


def test_extremes_of_attentive() -> None:
    space = catalog.space("attentive")
    ends = np.array([np.zeros(31), space.radices - 1], dtype=np.int8)
    assert costs_of(space, ends).tolist() == [203_389_568, 1_939_335_808]
