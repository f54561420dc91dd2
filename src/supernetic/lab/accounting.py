"""What a search costs: the calculations of AttentiveNAS and ScaleNet, with printed and recomputed figures.

Paper: AttentiveNAS, appendix E, Table 3: ImageNet epochs for N deployments; ScaleNet, appendix G: device time for a
family of models, one per budget.
Differences: where a printed figure does not follow from the paper's own inputs, a note says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from ..errors import InputError, UnknownNameError
from ..scaling.compound import grid_cases

ATTENTIVENAS, SCALENET = "AttentiveNAS", "ScaleNet"
DEPLOYMENT_COUNT = 40
BUDGETS_M_MACS = (350, 800, 1500, 3000, 6000, 10_000)  # of ScaleNet's base model and its five scaled ones
DEVICE_SPEEDS = {"V100": 1.0, "TPUv2": 1.0, "TPUv3": 2.7}  # of a GPU or a TPU core, as ScaleNet compares them


class SearchCost(NamedTuple):
    """One figure of a paper, recomputed for the given inputs; `printed` is None where the paper used other inputs."""

    method: str
    what: str
    paper: str
    formula: str
    unit: str  # epochs, cases, hours, days, times
    device: str  # that the hours or days are for
    printed: float | None
    recomputed: float
    v100_days: float | None = None  # the same device time on a V100
    note: str = ""


class Epochs(NamedTuple):
    """Training epochs on ImageNet: once, and again for each deployment."""

    once: int
    each: int
    formula: str
    printed: int
    note: str = ""


EPOCHS_BY_METHOD = {
    "MnasNet": Epochs(0, 40_000, "40000 N", 1_600_000),
    "ProxylessNAS": Epochs(0, 200 + 300, "200 N + 300 N", 20_000, "weight-sharing training and retraining"),
    "OFA": Epochs(590, 75, "590 + 75 N", 3_590, "weight-sharing training and fine-tuning"),
    "AttentiveNAS": Epochs(360 * 4, 0, "360 x 4", 1_440, "four paths per step; the search adds less than 10 %"),
}


def search_costs(
    deployments: int = DEPLOYMENT_COUNT,
    budgets: Sequence[float] = BUDGETS_M_MACS,
    speeds: Mapping[str, float] = DEVICE_SPEEDS,
) -> list[SearchCost]:
    """Recompute all figures of both papers.

    Args:
        deployments: The number N of devices that a network is searched for.
        budgets: M MACs of the models of a family, the base model among them.
        speeds: How many times faster than a V100 a device is; devices that are left out keep their speed.

    Returns:
        The figures.
    """
    if deployments < 1:
        raise InputError(f"deployments must be at least 1, got {deployments}")
    if not budgets or not all(0 < b < inf for b in budgets):
        raise InputError(f"budgets must be positive numbers of M MACs, got {list(budgets)}")
    records = []
    for figure, original in zip(
        _figures(deployments, budgets), _figures(DEPLOYMENT_COUNT, BUDGETS_M_MACS), strict=True
    ):
        printed = figure.printed if figure.recomputed == original.recomputed else None
        days = figure.recomputed / 24 if figure.unit == "hours" else figure.recomputed
        v100_days = in_v100_days(days, figure.device, speeds) if figure.device else None
        records.append(figure._replace(printed=printed, v100_days=v100_days))
    return records


def break_even(method: str = "AttentiveNAS", other: str = "OFA") -> float:
    """The number of deployments above which `method` needs fewer epochs than `other`; infinite if there is none."""
    for name in (method, other):
        if name not in EPOCHS_BY_METHOD:
            raise UnknownNameError("method", name, EPOCHS_BY_METHOD)
    a, b = EPOCHS_BY_METHOD[method], EPOCHS_BY_METHOD[other]
    return max(0.0, (a.once - b.once) / (b.each - a.each)) if b.each > a.each else inf


def in_v100_days(days: float, device: str, speeds: Mapping[str, float] = DEVICE_SPEEDS) -> float:
    """Convert days of a device to days of a V100.

    Args:
        days: Days on the device.
        device: Its name.
        speeds: How many times faster than a V100 devices are.

    Returns:
        Days on a V100.
    """
    for name in (device, *speeds):
        if name not in DEVICE_SPEEDS:
            raise UnknownNameError("device", name, DEVICE_SPEEDS)
    all_speeds = {**DEVICE_SPEEDS, **speeds}
    for name, speed in all_speeds.items():
        if not 0 < speed < inf:
            raise InputError(f"the speed of {name} must be a positive number, got {speed:g}")
    return days * all_speeds[device] / all_speeds["V100"]


# --- the figures, method by method ------------------------------------------------------------------------------------


def _figures(deployments: int, budgets: Sequence[float]) -> Iterator[SearchCost]:
    for method, e in EPOCHS_BY_METHOD.items():
        recomputed = e.once + e.each * deployments
        yield SearchCost(method, "training", ATTENTIVENAS, e.formula, "epochs", "", e.printed, recomputed, note=e.note)
    yield from _efficientnet()
    yield from _bignas(max(budgets))
    yield from _fbnetv2(sum(budgets))
    yield from _ofa(max(budgets), len(budgets) - 1, deployments)
    yield from _mnasnet(sum(budgets))
    yield from _scalenet(max(budgets))


def _time(
    method: str, what: str, formula: str, time: float, device: str, note: str = "", **printed: float
) -> Iterator[SearchCost]:
    """One record for each unit (`hours`, `days`) in which the paper prints a time, which is given in hours."""
    for unit, figure in printed.items():
        recomputed = time if unit == "hours" else time / 24
        yield SearchCost(method, what, SCALENET, formula, unit, device, figure, recomputed, note=note)


def _efficientnet() -> Iterator[SearchCost]:
    version = "the paper says TPU, taken as v2"
    sixth = 24 * 0.7 / 4.2  # hours: a model of 4.2G takes a day
    cases, name = grid_cases(), "EfficientNet"
    rule, note = "|d w^2 r^2 - 2| <= 0.1", f"in exact arithmetic {grid_cases(exact=True)}"
    yield SearchCost(name, "grid cases", SCALENET, rule, "cases", "", 10_285, cases, note=note)
    yield from _time(name, "search", f"{cases} x 0.7 / 4.2", cases * sixth, "TPUv2", version, days=1714)
    cases, name = 11**3 + 21**3 - 1, "EfficientNet-X"
    rule, note = "11^3 + 21^3 - 1", "steps of 0.1, then of 0.01 around the best, which is not trained twice"
    yield SearchCost(name, "grid cases", SCALENET, rule, "cases", "", 10_591, cases, note=note)
    note = f"digits swapped in the paper; {version}"
    yield from _time(name, "search", f"{cases} x 0.7 / 4.2", cases * sixth, "TPUv2", note, days=1756)
    note = "lower bound for the base model, not counted above; SCARLET-NAS says 2304"
    yield from _time("EfficientNet-B0", "search", "91000 h", 91_000, "TPUv2", note, days=3792)


def _bignas_hours(largest: float) -> tuple[float, float]:
    """(training, search); BigNAS itself went up to 1000M, and ScaleNet's ratio of the two is assumed."""
    training = 36 * 64 * largest / 1000
    return training, training * 106 / 379


def _bignas(largest: float) -> Iterator[SearchCost]:
    training, search = _bignas_hours(largest)
    formula = f"36 h x 64 x {largest:g} / 1000"
    grows = "time grows like the largest budget, though the range of sizes grows 100 times"
    yield from _time("BigNAS", "training", formula, training, "TPUv3", grows, hours=23_040, days=960)
    yield from _time("BigNAS", "search", "training x 106 / 379", search, "TPUv3", "as in ScaleNet", days=268)
    yield from _time("BigNAS", "total", "training + search", training + search, "TPUv3", days=1228)


def _fbnetv2(total: float) -> Iterator[SearchCost]:
    note = "printed with a sum of 21550, but the budgets sum to 21650; its 0.33M means 0.33G"
    yield from _time(
        "FBNetV2", "total", f"600 h x {total:g} / 330", 600 * total / 330, "V100", note, hours=39_182, days=1633
    )


def _ofa(largest: float, stages: int, deployments: int) -> Iterator[SearchCost]:
    large, scaled = (1200 + 40) * largest / 600, 75 * deployments * stages
    formula, assumed = f"(1200 + 40) h x {largest:g} / 600", "600M assumed for the large model"
    yield from _time("OFA", "large model", formula, large, "V100", assumed, hours=20_667)
    yield from _time("OFA", "scaled models", f"75 h x {deployments} x {stages}", scaled, "V100", hours=15_000)
    yield from _time("OFA", "total", "large + scaled models", large + scaled, "V100", hours=35_667, days=1486)


def _mnasnet(total: float) -> Iterator[SearchCost]:
    hours = 91_000 * total / 388
    yield from _time("MnasNet", "total", f"91000 h x {total:g} / 388", hours, "TPUv2", hours=5_077_706, days=211_571)


def _scalenet(largest: float) -> Iterator[SearchCost]:
    own = "for the paper's own budgets"
    yield from _time("ScaleNet", "training", "measured", 379 * 24, "V100", own, days=379)
    yield from _time("ScaleNet", "search", "measured", 106 * 24, "V100", own, days=106)
    yield from _time("ScaleNet", "total", "379 + 106", 485 * 24, "V100", own, days=485)
    retrained = "the others' totals leave retraining out; BigNAS needs none"
    yield from _time("ScaleNet", "with retraining", "379 + 106 + 280", 765 * 24, "V100", retrained, days=765)
    bignas = sum(_bignas_hours(largest)) / 24
    formula, note = f"{bignas:.1f} / 485", "of days on different devices; compare v100_days"
    yield SearchCost("BigNAS", "total / ScaleNet's", SCALENET, formula, "times", "", 2.53, bignas / 485, note=note)
