"""What an update says about an item.

An update may refresh an item, but never takes away what is already known unless the server says
so in so many words. A field that is absent, null, "" or [] says nothing.
"""

from __future__ import annotations

from typing import Any


def says_something(value: object) -> bool:
    """Tell whether a field's value is news: anything but None, an empty string or an empty list."""
    return value is not None and not (isinstance(value, str | list) and not value)


def said(model: object) -> dict[str, Any]:
    """Return the fields, extra ones included, that a message item or a content part says.

    A field that was never set says nothing, even where it has a default: that is how an omitted
    status travels from the converter to the history (see `shim.converter_status`). Anything that
    is not a pydantic model says nothing.
    """
    extra = getattr(model, "model_extra", None) or {}
    fields: dict[str, Any] = {}
    for name in getattr(model, "model_fields_set", ()):
        value = extra[name] if name in extra else getattr(model, name, None)
        if says_something(value):
            fields[name] = value
    return fields


def unsent(item: Any) -> Any:
    """Mark the status of an item as not sent by the server; returns the item."""
    item.model_fields_set.discard("status")
    return item
