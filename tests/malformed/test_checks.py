"""The comparison finds what it is to find: the tests break something in the copy with the fixes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from . import comparison as rules
from . import conversation, strategies
from .comparison import Comparison
from .conversation import Emitted, Step
from .examples import run
from .sdk import Sdk, replaced
from .values import Made

Handler = Callable[[Any, Any], Any]
Break = Callable[[Sdk, Handler], Handler]
"""Given a copy and the session's on_event(), another one."""


def raising(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        await on_event(session, event)
        raise KeyError("broken")

    return broken


def hanging(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        while True:
            pass

    return broken


def wasting(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        await on_event(session, event)
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    return broken


def telling_of_an_error(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        await on_event(session, sdk.named("RealtimeModelErrorEvent")(error="broken"))

    return broken


def telling_of_an_exception(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        await on_event(session, sdk.named("RealtimeModelExceptionEvent")(exception=KeyError()))

    return broken


def telling_twice(sdk: Sdk, on_event: Handler) -> Handler:
    async def broken(session: Any, event: Any) -> None:
        await on_event(session, event)
        await on_event(session, event)

    return broken


def history_then(change: Callable[[Any], list[Any]]) -> Break:
    """Put other items into the history after each event but the first; ``change`` returns them."""

    def breaking(sdk: Sdk, on_event: Handler) -> Handler:
        async def broken(session: Any, event: Any) -> None:
            known = list(session._history)
            await on_event(session, event)
            if known:
                session._history = [new for item in session._history for new in change(item)]

        return broken

    return breaking


def without_content(item: Any) -> list[Any]:
    return [item.model_copy(update={"content": []})]


def without_words(item: Any) -> list[Any]:
    parts = [part.model_copy(update={"text": ""}) for part in item.content]
    return [item.model_copy(update={"content": parts})]


def without_previous(item: Any) -> list[Any]:
    return [item.model_copy(update={"previous_item_id": None})]


BREAKS: dict[str, tuple[Break, str]] = {
    "raises": (raising, "it raises KeyError"),
    "hangs": (hanging, "it hangs: no end after 0.2 s in broken()"),
    "wastes time": (wasting, "the bare release 0"),
    "tells of an error": (telling_of_an_error, "it answers with"),
    "tells of an exception": (telling_of_an_exception, "it answers with"),
    "tells twice": (telling_twice, "the events are"),
    "loses an item": (history_then(lambda item: []), "a known item is gone"),
    "loses content": (history_then(without_content), "of 1 known parts 0 are left"),
    "loses words": (history_then(without_words), "known fields text and transcript 0 are left"),
    "loses its place": (history_then(without_previous), "the previous_item_id of a known item"),
    "copies an item": (history_then(lambda item: [item.model_copy()]), "not the same any more"),
}


def steps_about(*item_ids: str) -> list[Step]:
    """Return the steps in which these items get a text each."""
    text = Made("InputText", {"text": "Hello"})
    items = [
        Made("UserMessageItem", {"item_id": each, "previous_item_id": "u0", "content": [text]})
        for each in item_ids
    ]
    return [Emitted(Made("RealtimeModelItemUpdatedEvent", {"item": item})) for item in items]


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_is_found(
    name: str, comparison: Comparison, fixed: Sdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking, words = BREAKS[name]
    steps = steps_about("u1", "u2" if name == "copies an item" else "u1")
    comparison.check(steps)

    monkeypatch.setattr(rules, "SECONDS", 0.02)
    if name == "hangs":
        monkeypatch.setattr(conversation, "HANGING", 0.2)
    with (
        replaced(fixed, "on_event", breaking(fixed, fixed.session_type.on_event)),
        pytest.raises(AssertionError) as raised,
    ):
        comparison.check(steps)
    assert words in str(raised.value)


@pytest.mark.parametrize("kind", ["events of the server", "items of the application"])
def test_examples_find_what_the_bare_release_loses(
    kind: str, bare: Sdk, loop: asyncio.AbstractEventLoop, pytestconfig: pytest.Config
) -> None:
    steps = strategies.received() if kind == "events of the server" else strategies.built(bare)
    with pytest.raises(AssertionError, match=r"left|gone"):
        run(Comparison(bare, bare, loop), steps, pytestconfig, shrink=False)
