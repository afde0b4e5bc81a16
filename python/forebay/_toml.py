"""Python values as TOML, for scenarios built from objects."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any


def key(name: str) -> str:
    """A TOML key, quoted if needed. A trailing underscore is removed: write ``class_`` for ``class``."""
    name = name.removesuffix("_")
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else words(name)


def table(value: Any) -> dict[str, Any]:
    """The entries of a mapping or dataclass that are not None, merged with those of ``more``."""
    if isinstance(value, Mapping):
        return {str(name): entry for name, entry in value.items() if entry is not None}
    found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    more = found.pop("more", None) or {}
    return {name: entry for name, entry in found.items() if entry is not None} | dict(more)


def value(of: Any) -> str:
    """One value on one line."""
    if hasattr(of, "tolist"):
        # numpy numbers and arrays.
        return value(of.tolist())
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, (int, float)):
        return repr(of)
    if isinstance(of, str):
        return words(of)
    if isinstance(of, Mapping) or dataclasses.is_dataclass(of):
        return "{ " + ", ".join(f"{key(name)} = {value(entry)}" for name, entry in table(of).items()) + " }"
    if isinstance(of, (list, tuple, range)):
        return "[" + ", ".join(value(entry) for entry in of) + "]"
    if of is None:
        raise TypeError("None has no TOML value")
    return words(str(of))


def words(text: str) -> str:
    """A quoted string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def document(of: Mapping[str, Any]) -> str:
    """A complete file: plain entries first, then tables, then arrays of tables."""

    def is_table(entry: Any) -> bool:
        return isinstance(entry, Mapping) or (dataclasses.is_dataclass(entry) and not isinstance(entry, type))

    lines, tables = [], []
    for name, entry in table(of).items():
        if is_table(entry):
            tables += [f"\n[{key(name)}]", *(f"{key(k)} = {value(v)}" for k, v in table(entry).items())]
        elif isinstance(entry, (list, tuple)) and entry and all(map(is_table, entry)):
            for one in entry:
                tables += [f"\n[[{key(name)}]]", *(f"{key(k)} = {value(v)}" for k, v in table(one).items())]
        else:
            lines.append(f"{key(name)} = {value(entry)}")
    return "\n".join(lines + tables) + "\n"
