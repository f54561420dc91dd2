"""The result of a job or command: a summary for people, plain records for scripts."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from typing import Any


class Result(ABC):
    """Base of frozen dataclasses; a subclass writes `lines`, and `to_json` where its fields are not plain already."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The lines of the summary."""

    def summary(self) -> str:
        """What was done and found, for people."""
        return "\n".join(self.lines())

    def __str__(self) -> str:
        return self.summary()

    def to_json(self) -> dict[str, Any]:
        """Plain records: lists for tuples, nothing that JSON does not have."""
        fields: Any = self
        record: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(fields), allow_nan=False))
        return record
