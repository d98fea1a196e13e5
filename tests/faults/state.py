"""What a model keeps of a connection, as values that can be compared."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

# What __init__ sets and close() may leave: configuration, and what connect() sets again.
_KEPT = {
    "model",
    "_call_id",
    "_close_requested",
    "_connection_attempt_active",
    "_listeners",
    "_playback_tracker",
    "_server_event_type_adapter",
    "_tracing_config",
    "_transport_config",
}

# Packages whose objects are compared by what is in them.
_OPENED = {"agents", "openai"}


def connection_state(model: Any) -> dict[str, Any]:
    """Return the model's attributes, but for those that may outlive a connection.

    Objects of the SDK become dictionaries of their attributes that are not None, and locks whether
    they are locked.
    """
    return {name: _plain(each) for name, each in vars(model).items() if name not in _KEPT}


def new_state() -> dict[str, Any]:
    """Return the state of a model that has never been connected."""
    return connection_state(OpenAIRealtimeWebSocketModel())


def _plain(value: object) -> object:
    if isinstance(value, asyncio.Lock | asyncio.Condition):
        return value.locked()
    if isinstance(value, set | dict | list | tuple):
        return repr(value)
    if type(value).__module__.partition(".")[0] not in _OPENED:
        return value
    attributes = getattr(value, "__dict__", None)
    if attributes is None:
        return value
    return {name: _plain(each) for name, each in attributes.items() if each is not None}
