from __future__ import annotations

from supernetic.reports.finishes import finish_sentence, finish_sentences
from supernetic.runs.records import FinishRecord, NetworkRecord

FIRST = FinishRecord(1, 4000, {"valid/accuracy": 85.0, "test/accuracy": 84.0}, 812, (4.1, 2.9, 5.3))
MODEL = NetworkRecord(
    "model-1", "chosen", steps=4812, trained={"valid/accuracy": 89.0}, test={"test/accuracy": 88.1}, finishes=(FIRST,)
)  # fmt: skip


def test_one_finish() -> None:
    assert finish_sentence(MODEL, 1000) == (
        "After the search model-1 was trained further: 812 steps, then 4,000 more, 4,812 steps in all. Test accuracy "
        "84.00 %, then 88.10 % [85.9, 90.0] (a difference of +4.10 points [+2.90, +5.30]); validation accuracy "
        "85.00 %, then 89.00 %."
    )


def test_two_from_the_supernets_weights_by_another_recipe() -> None:
    first = FinishRecord(1, 100, {"valid/accuracy": 10.0}, None, None, "mine")
    second = FinishRecord(3, 200, {"valid/accuracy": 20.0, "test/accuracy": 19.0}, 100)
    network = NetworkRecord("plain", "plain", steps=300, trained={"valid/accuracy": None}, finishes=(first, second))
    assert finish_sentence(network, None) == (
        "After the search plain was trained further: the supernet's weights, then 100 more by the recipe 'mine', then "
        "200 more, 300 steps in all. Test accuracy unknown, then 19.00 %, then unknown; validation accuracy 10.00 %, "
        "then 20.00 %, then unknown."
    )


def test_only_those_that_were_are_spoken_of() -> None:
    other = NetworkRecord("plain", "plain")
    assert finish_sentences([other, MODEL], {"test_images": 1000}) == [finish_sentence(MODEL, 1000)]
    assert finish_sentences([other], {}) == []
