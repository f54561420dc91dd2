"""What a finish begins with: a network of a finished run, its weights, and the data that it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, RunError
from ...progress import OnEvent
from ...runs.directory import read_settings, require_settings
from ...runs.files import BEFORE, EXPORTED, NETWORK_TRAININGS, SETTINGS, TARGETS, TRUST, WEIGHTS
from ...runs.records import NetworkRecord, networks_of, read_finished, read_json, read_networks, read_trust
from ..compare.candidates import BASELINE
from ..compare.comparison import ACCURACY
from ..compare.export import missing_weights, read_network
from ..compare.train import inherited_file

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...nn.network import Network
    from ...training.recipe import Recipe

JOBS = ("search", "scale")  # whose runs hold finished networks
NEEDED = {  # of the settings of a run
    "seed": int,
    "load": dict,
    "retrain_recipe": dict,
    "data.fingerprint": str,
    "data.classes": list,
}


@dataclass(frozen=True)
class Subject:
    """A network of a run that is to be trained further.

    Args:
        run: The directory of the run.
        settings: Its settings.
        record: The network's record, before the finish.
    """

    run: Path
    settings: Mapping[str, Any]
    record: NetworkRecord

    @property
    def weights(self) -> Path:
        """The file with the weights that the model has now."""
        if self.record.exports_inherited:
            return inherited_file(self.run, self.record.name)
        return self.run / NETWORK_TRAININGS / str(self.record.key) / WEIGHTS

    @property
    def targets(self) -> Path | None:
        """What a teacher says of the training images, if the network has learnt from one."""
        teacher = self.record.teacher
        return self.run / TARGETS if teacher is not None and teacher.asked else None

    @property
    def network(self) -> Network:
        """The network as the model has it now."""
        return read_network(self.run, self.record)

    @property
    def steps(self) -> int | None:
        """Updates of these weights; None if they are the supernet's."""
        return None if self.record.exports_inherited else self.record.steps

    @property
    def decides(self) -> str:
        """The validation metric by which the run compares networks."""
        return str(read_trust(self.run).get("decides", ACCURACY))

    @property
    def int8(self) -> bool:
        """Whether the run's models are quantised."""
        request = self.settings.get("request")
        return not (isinstance(request, Mapping) and request.get("int8") == "no")

    def recipe(self) -> Recipe:
        """The run's own recipe of finished networks, with the augmentation that the run chose."""
        from ...training.recipe import recipe

        return recipe(self.settings["retrain_recipe"])

    def load(self, send: OnEvent) -> Dataset:
        """The data of the run, with its splits; refuses data that have changed since."""
        from ...datasets import load

        try:
            dataset = load(**self.settings["load"], on_event=send)
        except TypeError as error:  # settings of `load` that there are not
            raise RunError(f"{self.run / SETTINGS} is damaged: load: {error}") from None
        recorded = self.settings["data"]["fingerprint"]
        if dataset.fingerprint != recorded:
            raise RunError(
                f"{self.run} was made with other data than {dataset.source} holds now: the fingerprint is "
                f"{dataset.fingerprint[:16]}, the run has {str(recorded)[:16]}"
            )
        return dataset


def require_finished(run: Path) -> dict[str, Any]:
    """The settings of a run that holds finished networks; any other is refused."""
    if not (run / SETTINGS).exists():
        raise RunError(f"{run} is not a run: it has no {SETTINGS}")
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    if settings.get("job") not in JOBS or "load" not in settings:
        kind = settings.get("job", "something else")
        raise RunError(f"{run} is a run of {kind!r}: only those of {' and '.join(JOBS)} on images hold trained models")
    require_settings(run, settings, NEEDED)
    for name in (TRUST, EXPORTED):
        read_finished(run, name)
    return settings


def read_subject(run: Path, settings: Mapping[str, Any], model: str, place: Path) -> Subject:
    """The network that is to be trained further.

    Args:
        run: The run.
        settings: Its settings.
        model: The network's name.
        place: The directory of the finish; if it has begun, it knows the network as it was then.

    Returns:
        The network, whose weights exist.
    """
    records = read_networks(run)
    if (place / BEFORE).exists():
        records = networks_of(read_json(place / BEFORE), place / BEFORE)
    record = next((r for r in records if r.name == model), None)
    if record is None:
        able = [r.name for r in records if r.role != BASELINE and not missing_weights(run, r)]
        raise InputError(f"{run} has no network {model!r}: choose from {', '.join(able)}")
    if reason := missing_weights(run, record):
        raise InputError(f"{model} has no weights to go on with: {reason}")
    subject = Subject(run, settings, record)
    try:
        subject.network  # noqa: B018 - refuses what has no blueprint, and weights that do not fit
    except InputError as error:
        if record.role == BASELINE:
            raise InputError(f"{model} has no blueprint, as no network of your own has: train it where it is") from None
        raise error from None
    return subject
