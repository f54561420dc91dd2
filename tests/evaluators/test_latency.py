import numpy as np

from supernetic.blueprint import Layer
from supernetic.evaluators.latency import LatencyEvaluator
from supernetic.searchers import Trial
from supernetic.spaces.macro import Macro
from supernetic.testing import check_evaluator
from supernetic.timing.lookup import LatencyTable, reachable_layers

SPACE = Macro(channels=8, resolution=16)
LAYERS: dict[Layer, float] = {layer: 0.01 * i for i, layer in enumerate(reachable_layers(SPACE), 1)}
TABLE = LatencyTable(SPACE.fingerprint, "onnx", 1, 1, len(LAYERS), LAYERS, factor=0.5, deduction=0.001, offset=0.1)


def test_latencies_are_sums_of_the_tables_layers() -> None:
    evaluate = LatencyEvaluator(SPACE, TABLE)
    archs = [tuple(a) for a in SPACE.sample(np.random.default_rng(0), 20).tolist()]
    answers = evaluate(archs)
    assert [a["latency/ms"] for a in answers] == [TABLE.ms(SPACE.blueprint(a)) for a in archs]
    assert 0.1 < min(a["latency/ms"] for a in answers) < max(a["latency/ms"] for a in answers) < 5
    assert evaluate([]) == []


def test_the_contract() -> None:
    evaluate = LatencyEvaluator(SPACE, TABLE)
    check_evaluator(evaluate, SPACE)
    assert evaluate.test == frozenset()
    trial = Trial((0,) * 8, evaluate([(0,) * 8])[0])
    assert Trial.from_json(trial.to_json()).metrics == trial.metrics
