"""What can go wrong, with the message that the program `forebay` has for it."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["ForebayError", "RunError", "ScenarioError", "StoreError"]


class ForebayError(Exception):
    """Any of them.

    Attributes:
        error: What the JSON document of the program says under ``error``.
    """

    error: dict[str, Any]

    def __init__(self, message: str, error: str = "{}") -> None:
        super().__init__(message)
        self.error = json.loads(error)

    def __reduce__(self) -> tuple[type[ForebayError], tuple[str, str]]:
        return type(self), (str(self), json.dumps(self.error))


class ScenarioError(ForebayError, ValueError):
    """A wrong scenario, discipline or argument: file, line, key, what was found, what is accepted, the nearest name."""

    @property
    def file(self) -> str | None:
        """The file as it was named, or the argument."""
        return self.error.get("file")

    @property
    def line(self) -> int | None:
        """Line in the file, from 1."""
        return self.error.get("line")

    @property
    def key(self) -> str | None:
        """Dotted path of the key."""
        return self.error.get("key")

    @property
    def found(self) -> str | None:
        """What stood there."""
        return self.error.get("found")

    @property
    def accepts(self) -> str | None:
        """What would have been accepted."""
        return self.error.get("accepts")

    @property
    def hint(self) -> str | None:
        """How to mend it."""
        return self.error.get("hint")


class StoreError(ForebayError, OSError):
    """A directory of results that cannot be used."""


class RunError(ForebayError, RuntimeError):
    """A run that could not be done."""
