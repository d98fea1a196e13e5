"""Values that are written down briefly and made in full for each copy of the SDK."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from .sdk import Sdk

How = Literal["checked", "unchecked", "plain"]


@dataclass(frozen=True)
class Long:
    """A text of so many characters."""

    count: int


@dataclass(frozen=True)
class Deep:
    """Lists or objects, each the only thing in the next one."""

    depth: int
    of: Literal["list", "dict"]


@dataclass(frozen=True)
class Many:
    """A list with these entries again and again, until it has so many."""

    entries: list[Any]
    count: int


@dataclass(frozen=True)
class Made:
    """An instance of one of the SDK's classes, or an object with the same attributes.

    ``checked`` ones go through pydantic where it lets them pass; the ``unchecked`` are as who calls
    ``model_construct()`` gets them, and the ``plain`` have nothing of pydantic.
    """

    name: str
    fields: dict[str, Any]
    how: How = "checked"


def made(value: Any, sdk: Sdk) -> Any:
    """Return the value in full, all of it new, with the classes of that copy."""
    if isinstance(value, dict):
        return {key: made(each, sdk) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(made(each, sdk) for each in value)
    if isinstance(value, Long):
        return "x" * value.count
    if isinstance(value, Deep):
        return _nested(value)
    if isinstance(value, Many):
        entries = value.entries or [None]
        return [made(entries[number % len(entries)], sdk) for number in range(value.count)]
    if isinstance(value, Made):
        return _instance(value, sdk)
    return value


def _nested(value: Deep) -> Any:
    inner: Any = None
    for _ in range(value.depth):
        inner = [inner] if value.of == "list" else {"deep": inner}
    return inner


def _instance(value: Made, sdk: Sdk) -> Any:
    fields = made(value.fields, sdk)
    cls = sdk.named(value.name)
    if value.how == "plain":
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return SimpleNamespace(**{**defaults, **fields})
    if not issubclass(cls, BaseModel):
        return cls(**fields)
    if value.how == "checked":
        try:
            return cls(**fields)
        except ValidationError:
            pass
    return cls.model_construct(**fields)
