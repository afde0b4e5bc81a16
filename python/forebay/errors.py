"""Exceptions, with the messages of the command line."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["ForebayError", "RunError", "ScenarioError", "StoreError"]


class ForebayError(Exception):
    """Base class of all errors.

    Attributes:
        error: The ``error`` object of the command line's JSON document.
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
        """The file as named by the caller, or the argument."""
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
        """The value found."""
        return self.error.get("found")

    @property
    def accepts(self) -> str | None:
        """The accepted values."""
        return self.error.get("accepts")

    @property
    def hint(self) -> str | None:
        """How to correct it."""
        return self.error.get("hint")


class StoreError(ForebayError, OSError):
    """A results directory that cannot be used."""


class RunError(ForebayError, RuntimeError):
    """A run that failed."""
