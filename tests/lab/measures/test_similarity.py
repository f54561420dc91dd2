from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.lab.measures.measure import MEASURED_FILE
from supernetic.lab.measures.similarity import Similarity
from supernetic.space import Space


def macro() -> Space:
    return catalog.space("macro")


def test_similarity_is_that_of_the_features(run: Path) -> None:
    """One path, one image: the cosine per channel, by hand."""
    found = Similarity(slots=(1,), paths=1, images=1)(run, macro(), lambda *_: None)
    supernet, dataset = load_supernet(run)
    from supernetic.datasets.batches import Batches

    x = next(Batches(dataset, "valid", 1).evaluate())[0]
    arch = macro().sample(np.random.default_rng(0), 1)[0].tolist()
    maps = []
    with torch.no_grad():
        for option in range(3):
            path = (arch[0], option, *arch[2:])
            from supernetic.derivation.features import feature_maps

            maps.append(feature_maps(supernet, x, path, ["layer1"])["layer1"][0].flatten(1))
    pair = torch.nn.functional.cosine_similarity(maps[0], maps[2], dim=1).mean()
    matrix = found.details["slots"][0]["matrix"]
    assert matrix[0][2] == pytest.approx(float(pair), abs=1e-5)
    assert found.values["of skips"] == pytest.approx((matrix[0][1] + matrix[0][2]) / 2)
    assert found.values["of others"] == pytest.approx(matrix[1][2])
    assert found.values["similarity"] == pytest.approx((matrix[0][1] + matrix[0][2] + matrix[1][2]) / 3)


def test_an_answer_is_kept(run: Path) -> None:
    measure = Similarity(slots=(1, 3), paths=2, images=4)
    first = measure(run, macro(), lambda *_: None)
    (run / "supernet.safetensors").unlink()  # from here on nothing can be measured
    assert measure(run, macro(), lambda *_: None) == first
    assert (run / MEASURED_FILE).read_text().count("\n") == 1


def test_only_chains_with_skips_have_it() -> None:
    for space, slots, said in (
        ("nasbench201", (1,), "chain"),
        ("macro", (9,), "slot must lie"),
        ("macro", (), "at least 1 slot"),
    ):
        with pytest.raises(InputError, match=said):
            Similarity(slots=slots).check(catalog.space(space))
    with pytest.raises(InputError, match="no skip"):
        Similarity(slots=(0,)).check(catalog.space("scalenet-base"))
    assert Similarity().check(macro()) == ["similarity", "of skips", "of others"]
