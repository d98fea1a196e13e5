"""What the SDK hands out, as JSON, so that two processes can compare it."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Json = Any

_LONG = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

# Known by its name on both sides; the rest of it is configuration.
_NAMED = ("RealtimeAgent", "Agent", "FunctionTool")
# What every event carries of the session that it comes from.
_LEFT_OUT = ("RealtimeEventInfo", "RunContextWrapper")


def plain(value: Any) -> Json:
    """Return ``value`` as JSON; long texts and bytes by their length and checksum."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= _LONG else _summary("characters", value.encode())
    if isinstance(value, bytes):
        return _summary("bytes", value)
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return _plain_object(value)


def _plain_object(value: Any) -> Json:
    name = type(value).__name__
    if name in _LEFT_OUT:
        return None
    if name in _NAMED:
        return f"{name} {value.name}"
    if isinstance(value, BaseModel):
        return item(value)
    if isinstance(value, BaseException):
        return error(value)
    if dataclasses.is_dataclass(value):
        fields = {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return {"class": name, **fields}
    return _ADDRESS.sub("", repr(value))


def item(model: BaseModel) -> Json:
    """Return all fields of a pydantic model, and which of them somebody has set.

    An omitted status travels to the history as a field that nobody has set, so this is behaviour.
    """
    return {
        "class": type(model).__name__,
        "all": plain(model.model_dump(mode="json", warnings=False)),
        "set": plain(model.model_dump(mode="json", warnings=False, exclude_unset=True)),
    }


def error(value: BaseException) -> Json:
    """Return the type and the text of an exception."""
    return {"raised": type(value).__name__, "text": _ADDRESS.sub("", str(value))}


def _summary(unit: str, data: bytes) -> str:
    return f"<{len(data)} {unit}, checksum {zlib.crc32(data):08x}>"
