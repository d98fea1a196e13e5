"""Conversations in which something is not as it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from . import events
from .conversation import Emitted, Merged, Received, Step
from .sdk import Sdk
from .values import Made, Many

Strategy = st.SearchStrategy[Any]
Draw = Callable[[Strategy], Any]

_STEPS = 8
_MUTATIONS = 3
_COUNTS = (2, 3, 30, 300)
# What an event and the things in it are.
_IDENTIFYING = ("type", "role", "object", "item", "event_id")


def _weighted(*choices: tuple[int, Strategy]) -> Strategy:
    """One of these strategies, each as often as its number says."""
    drawn = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(range(len(drawn))).flatmap(drawn.__getitem__)


def received() -> st.SearchStrategy[list[Step]]:
    """The server sends valid and malformed events."""
    return st.lists(_received(), min_size=2, max_size=_STEPS)


def built(sdk: Sdk) -> st.SearchStrategy[list[Step]]:
    """The application and its model, too, bring items that they have made themselves."""
    updated = _items(sdk).map(lambda item: Made("RealtimeModelItemUpdatedEvent", {"item": item}))
    step = st.one_of(
        _received(),
        _model_events(sdk).map(Emitted),
        _items(sdk).map(Merged),
        updated.map(Emitted),
    )
    return st.lists(step, min_size=2, max_size=_STEPS)


def _received() -> Strategy:
    snapshots = st.sampled_from(events.snapshots())
    valid = _weighted((3, snapshots), (1, st.sampled_from(events.others())))
    slightly, badly = (valid.flatmap(change) for change in (_slightly_malformed, _badly_malformed))
    return _weighted((6, valid), (7, slightly), (3, badly), (1, _values())).map(Received)


def _values() -> Strategy:
    """Anything at all."""
    return st.sampled_from(events.JUNK)


@st.composite
def _slightly_malformed(draw: Draw, event: events.Event) -> Any:
    """The event with something that many a release accepts, where it is said what an item is."""
    payload: Any = event
    for _ in range(draw(st.integers(1, _MUTATIONS))):
        places = [path for path in _places(payload) if path and path[-1] not in _IDENTIFYING]
        deep = [path for path in places if path[0] == "item"] or places or [()]
        path = draw(st.sampled_from(deep))
        payload = _changed(payload, path, draw(_slight_changes(_at(payload, path))))
    return payload


@st.composite
def _badly_malformed(draw: Draw, event: events.Event) -> Any:
    """The event with anything anywhere."""
    payload: Any = event
    for _ in range(draw(st.integers(1, _MUTATIONS))):
        places = list(_places(payload))
        payload = _changed(payload, draw(st.sampled_from(places)), draw(_changes()))
    return payload


def _places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all that is inside of a value, and the empty one to itself."""
    entries: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(value, dict):
        entries = iter(value.items())
    elif isinstance(value, list):
        entries = iter(enumerate(value))
    for key, each in entries:
        yield (*path, key)
        yield from _places(each, *path, key)
    if not path:
        yield ()


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


_DELETE = object()


def _changed(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Return a copy of the value in which what is at the path is changed."""
    if not path:
        changed = change(value)
        return None if changed is _DELETE else changed
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = _changed(value[key], tuple(rest), change)
        return copy
    changed = change(value[key])
    if changed is _DELETE:
        del copy[key]
    else:
        copy[key] = changed
    return copy


def _slight_changes(old: Any) -> Strategy:
    """Changes that leave the type of a value as it is."""
    others = st.sampled_from((lambda old: None, lambda old: _DELETE))
    if isinstance(old, dict):
        fields = st.tuples(st.sampled_from(events.NAMES), _values()).map(_with_field)
        return _weighted((6, fields), (1, others))
    if isinstance(old, list):
        return _weighted((6, st.sampled_from(_COUNTS).map(_repeated)), (1, others))
    if isinstance(old, str):
        texts = st.sampled_from((*events.TEXTS, *events.IDS, *events.STATUSES))
        return _weighted((4, texts.map(lambda new: lambda old: new)), (1, others))
    return _weighted((1, others), (1, _changes()))


def _changes() -> Strategy:
    names = st.sampled_from((*events.IDS, *events.ROLES, *events.KINDS, *events.STATUSES))
    values = st.one_of(_values(), names)
    return st.one_of(
        values.map(lambda new: lambda old: new),
        st.just(lambda old: _DELETE),
        st.tuples(st.sampled_from(events.NAMES), values).map(_with_field),
        st.sampled_from(_COUNTS).map(_repeated),
        st.sampled_from((_in_list, _in_object)),
    )


def _with_field(field: tuple[str, Any]) -> Callable[[Any], Any]:
    name, value = field

    def change(old: Any) -> Any:
        return {**old, name: value} if isinstance(old, dict) else old

    return change


def _repeated(count: int) -> Callable[[Any], Any]:
    def change(old: Any) -> Any:
        return Many(old if isinstance(old, list) else [old], count)

    return change


def _in_list(old: Any) -> Any:
    return [old]


def _in_object(old: Any) -> Any:
    return {"type": old}


# What is made by hand.

_PARTS = ("InputText", "InputAudio", "InputImage", "AssistantText", "AssistantAudio")
_MESSAGES = {
    "AssistantMessageItem": "a1",
    "UserMessageItem": "u1",
    "SystemMessageItem": "s1",
}
_HOW = st.sampled_from(("checked", "checked", "checked", "unchecked", "unchecked", "plain"))


def _fields(required: dict[str, Strategy], optional: dict[str, Strategy]) -> Strategy:
    return st.fixed_dictionaries(required, optional=optional)


def _mostly(strategy: Strategy) -> Strategy:
    return _weighted((4, strategy), (1, _values()))


def _parts(sdk: Sdk) -> Strategy:
    words = _mostly(st.sampled_from(("", "Hello", "Hello there", None)))
    fields = _fields(
        {},
        {
            "text": words,
            "transcript": words,
            "audio": words,
            "image_url": _mostly(
                st.sampled_from(("https://example.com/1", "https://example.com/2"))
            ),
            "detail": words,
            "type": _mostly(st.sampled_from(events.KINDS)),
            "more": _values(),
        },
    )
    names = st.sampled_from([name for name in _PARTS if sdk.has(name)])
    parts = st.builds(Made, names, fields, _HOW)
    return _weighted((6, parts), (1, fields), (1, _values()))


def _items(sdk: Sdk) -> Strategy:
    names = st.sampled_from((*_MESSAGES, *_MESSAGES, "RealtimeToolCallItem"))
    return names.flatmap(lambda name: _items_of(name, sdk))


def _items_of(name: str, sdk: Sdk) -> Strategy:
    parts = st.lists(_parts(sdk), max_size=4)
    repeated = st.builds(Many, parts, st.sampled_from(_COUNTS))
    contents = _weighted((6, parts), (1, parts.map(tuple)), (1, repeated), (1, _values()))
    status = _mostly(st.sampled_from(events.STATUSES))
    fields = {"item_id": _ids(_MESSAGES.get(name, "f1"))}
    optional: dict[str, Strategy] = {}
    if name in _MESSAGES:
        fields["content"] = contents
        optional["status"] = status
    else:
        fields |= dict.fromkeys(("call_id", "name", "arguments"), st.just("c"))
        fields["status"] = status
    optional |= {
        "previous_item_id": _ids("u1"),
        "role": _mostly(st.sampled_from(events.ROLES)),
        "more": _values(),
        "output": _values(),
    }
    return st.builds(Made, st.just(name), _fields(fields, optional), _HOW)


def _ids(likely: str) -> Strategy:
    return _weighted((6, st.just(likely)), (1, st.sampled_from(events.IDS)), (1, _values()))


def _model_events(sdk: Sdk) -> Strategy:
    words = _mostly(st.sampled_from(("", "Hello", " there")))
    fields: dict[str, Strategy] = {
        "RealtimeModelTranscriptDeltaEvent": _fields(
            {"item_id": _ids("a1"), "delta": words, "response_id": st.just("resp_1")}, {}
        ),
        "RealtimeModelInputAudioTranscriptionCompletedEvent": _fields(
            {"item_id": _ids("u1"), "transcript": words}, {}
        ),
        "RealtimeModelItemDeletedEvent": _fields({"item_id": _ids("u1")}, {}),
        "RealtimeModelTurnStartedEvent": st.just({}),
        "RealtimeModelTurnEndedEvent": st.just({}),
    }
    return st.sampled_from(list(fields)).flatmap(
        lambda name: st.builds(Made, st.just(name), fields[name])
    )
