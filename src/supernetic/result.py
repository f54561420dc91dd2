"""The result of a job: lines for people, plain records for scripts."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from typing import Any


class Result(ABC):
    """Base of frozen dataclasses; a subclass writes `lines`, and `to_json` where its fields are not plain already."""

    @abstractmethod
    def lines(self) -> list[str]:
        """A summary for people."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Plain records: lists for tuples, nothing that JSON does not have."""
        fields: Any = self
        record: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(fields), allow_nan=False))
        return record
