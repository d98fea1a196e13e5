"""The sequences that hypothesis makes up: plain JSON, made without the SDK.

The ids are few and go with a role, so that most updates are about an item that is known. What
hardly ever comes about by chance, such as a handler that outlives its connection, comes as a block
of steps.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .dialect import Dialect
from .sequence import Sequence, Step

Strategy = st.SearchStrategy[Any]
Ids = tuple[str, ...]

_ABSENT: Any = object()

_KINDS = ("assistant", "user", "system")
_ROLES = {"a1": "assistant", "u1": "user", "s1": "system", "a2": "assistant", "u2": "user"}
_ITEM_IDS = ("a1", "u1", "a1", "u1", "a1", "u1", "s1", "a2", "u2")
_ASSISTANT_IDS = ("a1", "a1", "a1", "a2")
_USER_IDS = ("u1", "u1", "u1", "u2")
_RESPONSE_IDS = ("resp_1", "resp_1", "resp_2")

# What the server can say with a status, and in how many ways it can say nothing.
_STATUSES = (_ABSENT, "completed", _ABSENT, "in_progress", "incomplete", None, _ABSENT, "completed")
_WORDS = (_ABSENT, "Hello", "", "Hello there.", None, "Hel", "Bye", "Hello", _ABSENT)
_SPOKEN = ("Hello", "Hello there.", "Bye", "")
_RESPONSE_CREATE = {"type": "response.create"}
_DELTAS = ("Hel", "lo", " there", ".", "Hello", "")


def _any_of(values: Any) -> Strategy:
    return st.sampled_from(values)


def _weighted(*choices: tuple[int, Strategy]) -> Strategy:
    """One of the strategies, each as often as its weight says."""
    return _one_of([strategy for weight, strategy in choices for _ in range(weight)])


def _one_of(table: list[Strategy]) -> Strategy:
    # st.one_of() would take nested choices apart, and with them their weights.
    return st.integers(0, len(table) - 1).flatmap(table.__getitem__)


def _fields(**strategies: Strategy) -> Strategy:
    """An object with these fields, but for those that are absent."""
    return st.fixed_dictionaries(strategies).map(
        lambda fields: {name: value for name, value in fields.items() if value is not _ABSENT}
    )


def _just(**fields: Any) -> Strategy:
    return st.just(fields)


def _steps(*parts: Strategy) -> Strategy:
    """A block: the steps that the parts give, where a part gives one step or a list of them."""
    return st.tuples(*parts).map(_flattened)


def _flattened(parts: Any) -> list[Step]:
    steps: list[Step] = []
    for part in parts:
        steps += part if isinstance(part, list) else [part]
    return steps


def _maybe(strategy: Strategy) -> Strategy:
    return st.lists(strategy, max_size=1)


def _receive(events: Strategy, **fields: Strategy) -> Strategy:
    return _fields(do=st.just("receive"), event=events, **fields)


def sequences(dialect: Dialect) -> st.SearchStrategy[Sequence]:
    """Sequences of up to about 25 steps in a release's dialect."""
    words = _Words(dialect)
    step, one_item = words.step(), words.about_one_item()
    first = _weighted((1, st.lists(step, min_size=1, max_size=10)), (1, one_item))
    more = _weighted((1, st.lists(step, max_size=10)), (1, one_item))
    event = _weighted(
        (10, st.just([])),
        (4, words.reconnecting()),
        (2, words.speaking()),
        (4, words.outliving()),
        (1, words.cancelling()),
        (1, words.asking_late()),
    )
    # Several short lists are longer on the average than one long list.
    steps = _steps(first, event, more, event, more)
    return st.builds(Sequence, _setups(), steps.map(_complete))


def _setups() -> Strategy:
    return st.fixed_dictionaries(
        {
            "iterate": _any_of([False, False, False, True]),
            "async_tools": _any_of([True, True, True, False]),
            "guardrail": _any_of([False] * 6 + [True]),
            "tracker": _any_of([None] * 7 + ["plain", "plain", "raises"]),
        }
    )


def _complete(steps: list[Step]) -> list[Step]:
    """Begin with a connection, and replace each ``again`` by the item that was last told."""
    complete: list[Step] = [{"do": "connect"}]
    for step in steps:
        if step["do"] != "again":
            complete.append(step)
        elif said := [earlier for earlier in complete if "item" in earlier.get("event", {})]:
            complete.append(said[-1])
    return complete


class _Words:
    """The steps, in the words of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def step(self) -> Strategy:
        return _weighted(
            (38, self.snapshot()),
            (6, _just(do="again")),
            (9, self.transcript_delta()),
            (2, self.text_delta()),
            (6, self.transcription()),
            (5, self.audio()),
            (1, self.audio_done()),
            (2, self.deletion()),
            (2, self.truncation()),
            (2, self.speech()),
            (4, self.response()),
            (2, self.session()),
            (4, self.tool_call()),
            (1, self.error()),
            (1, self.noise()),
            (5, self.action()),
            (1, self.closing()),
            (1, self.rare()),
        )

    # What the server says.

    def snapshot(self, item_ids: Ids = _ITEM_IDS) -> Strategy:
        """An event with a whole message in it."""
        usual = _one_of([self._message(item_id, _ROLES[item_id]) for item_id in item_ids])
        odd = _one_of(
            [self._message(item_id, role) for item_id in set(item_ids) for role in _KINDS]
        )
        messages = _weighted((24, usual), (1, odd))
        names = self._dialect.snapshots * 2 + self._dialect.snapshots[:2]
        return _one_of([_receive(self._with_item(name, messages)) for name in names])

    def _with_item(self, event_type: str, items: Strategy) -> Strategy:
        if event_type == "conversation.item.retrieved":
            return _fields(type=st.just(event_type), item=items)
        if event_type.startswith("conversation.item."):
            previous = _any_of((None, "a1", _ABSENT, "u1", "s1", ""))
            return _fields(type=st.just(event_type), previous_item_id=previous, item=items)
        return _fields(
            type=st.just(event_type),
            response_id=_any_of(_RESPONSE_IDS),
            output_index=st.just(0),
            item=items,
        )

    def _message(self, item_id: str, role: str) -> Strategy:
        parts = self._part(role)
        content = _weighted((12, st.lists(parts, max_size=4)), (1, _any_of((None, _ABSENT, []))))
        return _fields(
            id=st.just(item_id),
            object=st.just("realtime.item"),
            type=st.just("message"),
            role=st.just(role),
            status=_any_of(_STATUSES),
            content=content,
            phase=_any_of([_ABSENT] * 12 + [None, "", "final"]),
        )

    def _part(self, role: str) -> Strategy:
        text_type, audio_type = "input_text", "input_audio"
        if role == "assistant":
            text_type, audio_type = self._dialect.assistant_parts
        text = self._part_fields(text_type, text=_any_of(_WORDS))
        audio = self._part_fields(
            audio_type,
            transcript=_any_of(_WORDS),
            audio=_any_of([_ABSENT] * 4 + [None, "", "UklGRg==", "UklGRjI="]),
        )
        image = self._part_fields(
            "input_image",
            image_url=_any_of((_ABSENT, "data:a", "data:b", "data:a", "data:c", None, "")),
            detail=_any_of((_ABSENT, "low", _ABSENT, "high", None)),
        )
        if role == "system":
            return _weighted((12, text), (1, audio))
        if role == "user" and self._dialect.is_ga:
            return _weighted((3, text), (4, audio), (3, image))
        return _weighted((3, text), (4, audio))

    def _part_fields(self, part_type: str, **fields: Strategy) -> Strategy:
        extra = _any_of([_ABSENT] * 12 + [None, [], ["note"]])
        return _fields(type=st.just(part_type), **fields, annotations=extra)

    def _about_part(self, event_type: str, item_ids: Ids, **fields: Strategy) -> Strategy:
        return _receive(
            _fields(
                type=st.just(event_type),
                response_id=_any_of(_RESPONSE_IDS),
                item_id=_any_of(item_ids),
                output_index=st.just(0),
                content_index=_any_of((0, 0, 0, 1)),
                **{name: each for name, each in fields.items() if name != "audio_ms"},
            ),
            **{name: each for name, each in fields.items() if name == "audio_ms"},
        )

    def transcript_delta(self, item_ids: Ids = (*_ASSISTANT_IDS * 5, "u1")) -> Strategy:
        name = self._dialect.output("audio_transcript.delta")
        return self._about_part(name, item_ids, delta=_any_of(_DELTAS))

    def text_delta(self) -> Strategy:
        return self._about_part(
            self._dialect.output("text.delta"), _ASSISTANT_IDS, delta=_any_of(_DELTAS)
        )

    def audio(self) -> Strategy:
        name = self._dialect.output("audio.delta")
        good = self._about_part(name, _ASSISTANT_IDS, audio_ms=_any_of((100, 400, 20, 2000)))
        bad = self._about_part(name, _ASSISTANT_IDS, delta=st.just("A"))
        return _weighted((20, good), (1, bad))

    def audio_done(self) -> Strategy:
        return self._about_part(self._dialect.output("audio.done"), _ASSISTANT_IDS)

    def transcription(self, item_ids: Ids = (*_USER_IDS * 5, "a1")) -> Strategy:
        return _receive(
            _fields(
                type=st.just("conversation.item.input_audio_transcription.completed"),
                item_id=_any_of(item_ids),
                content_index=st.just(0),
                transcript=_any_of(_SPOKEN),
                usage=st.just({"type": "duration", "seconds": 1.0}),
            )
        )

    def deletion(self) -> Strategy:
        return _receive(
            _fields(type=st.just("conversation.item.deleted"), item_id=_any_of(_ITEM_IDS))
        )

    def truncation(self) -> Strategy:
        return _receive(
            _fields(
                type=st.just("conversation.item.truncated"),
                item_id=_any_of(_ASSISTANT_IDS),
                content_index=st.just(0),
                audio_end_ms=st.just(50),
            )
        )

    def speech(self) -> Strategy:
        return _receive(
            _fields(
                type=st.just("input_audio_buffer.speech_started"),
                item_id=_any_of(_USER_IDS),
                audio_start_ms=st.just(10),
                audio_end_ms=_any_of((_ABSENT, _ABSENT, 30)),
            )
        )

    def response(self) -> Strategy:
        return _weighted((1, self.response_created()), (1, self.response_done()))

    def response_created(self) -> Strategy:
        return self._response("response.created", st.just("in_progress"))

    def response_done(self) -> Strategy:
        statuses = _any_of(("completed", "cancelled", "incomplete"))
        return self._response("response.done", statuses)

    def _response(self, event_type: str, statuses: Strategy) -> Strategy:
        usage = {"total_tokens": 3, "input_tokens": 1, "output_tokens": 2}
        response = _fields(
            id=_any_of(_RESPONSE_IDS),
            object=st.just("realtime.response"),
            status=statuses,
            output=st.just([]),
            usage=_any_of((_ABSENT, _ABSENT, usage)),
        )
        return _receive(_fields(type=st.just(event_type), response=response))

    def session(self) -> Strategy:
        detection = _any_of(
            (
                {"type": "server_vad", "interrupt_response": True},
                {"type": "server_vad", "interrupt_response": False},
                {"type": "server_vad"},
                None,
                _ABSENT,
            )
        )
        if self._dialect.is_ga:
            formats = ({"type": "audio/pcm", "rate": 24000}, {"type": "audio/pcmu"}, _ABSENT)
            audio = _fields(
                input=_fields(turn_detection=detection), output=_fields(format=_any_of(formats))
            )
            realtime = _fields(type=st.just("realtime"), model=st.just("gpt-realtime"), audio=audio)
            session = _weighted((10, realtime), (1, _just(type="transcription")))
        else:
            session = _fields(
                id=st.just("sess_1"),
                turn_detection=detection,
                output_audio_format=_any_of(("pcm16", "g711_ulaw", _ABSENT)),
            )
        names = _any_of(("session.created", "session.updated"))
        return _receive(_fields(type=names, session=session))

    def tool_call(self) -> Strategy:
        item = _fields(
            id=_any_of(("call_item_1", "call_item_1", "call_item_1", "call_item_2", "a1")),
            object=st.just("realtime.item"),
            type=st.just("function_call"),
            status=_any_of(("completed", "completed", "completed", "in_progress", "incomplete")),
            name=_any_of(("weather", "weather", "forecast", "almanac", "broken", "nowhere")),
            call_id=_any_of(("call_1", "call_1", "call_2")),
            arguments=_any_of(("{}", "{}", "{}", "{")),
        )
        names = ("response.output_item.done", "response.output_item.done", *self._dialect.snapshots)
        return _one_of([_receive(self._with_item(name, item)) for name in names])

    def error(self) -> Strategy:
        error = _fields(
            type=st.just("invalid_request_error"),
            code=_any_of((None, "bad_response_create")),
            message=_any_of(("no", "response.create is not possible")),
            event_id=_any_of((None, "agents_py_response_create_1")),
            param=st.none(),
        )
        return _receive(_fields(type=st.just("error"), error=error))

    def noise(self) -> Strategy:
        """What no handler is for, and what cannot be understood."""
        part = {"item_id": "u1", "content_index": 0}
        events = [
            {"type": "input_audio_buffer.speech_stopped", "item_id": "u1", "audio_end_ms": 20},
            {"type": "input_audio_buffer.cleared"},
            {"type": "conversation.item.input_audio_transcription.delta", **part, "delta": "Hel"},
            {"type": "something.else", "item_id": "a1"},
            {"type": "conversation.item.created", "previous_item_id": None},
            {"type": "response.created"},
            {"no": "type"},
        ]
        texts = _fields(do=st.just("receive"), text=_any_of(("{", "[]", "7")))
        return _weighted((4, _receive(_any_of(events))), (1, texts))

    # What the application and the line do.

    def action(self) -> Strategy:
        content = [{"type": "input_text", "text": "Hello"}]
        message = {"type": "message", "role": "user", "content": content}
        return _weighted(
            (4, _fields(do=st.just("interrupt"), force=_any_of((False, False, True)))),
            (3, _fields(do=st.just("send_message"), message=_any_of(("Hello", message)))),
            (1, _fields(do=st.just("send_audio"), commit=st.booleans())),
            (2, _just(do="send_raw", message=_RESPONSE_CREATE)),
            (1, _fields(do=st.just("wait"), after=_any_of((100, 3000)))),
            (2, _fields(do=st.just("played"), item_id=_any_of(_ASSISTANT_IDS), ms=st.just(40))),
        )

    def closing(self) -> Strategy:
        """A close by the session or of the model alone, which can fail or be cancelled."""
        return _fields(
            do=st.just("close"),
            owner=_any_of(("session", "session", "model")),
            line=_any_of(("plain", "slow", "plain", "raises", "hangs")),
            cancel=_any_of((_ABSENT, _ABSENT, _ABSENT, "before", "during")),
        )

    def connecting(self) -> Strategy:
        lines = _any_of([_ABSENT] * 10 + ["refused", "mute"])
        return _fields(do=st.just("connect"), line=lines)

    def rare(self) -> Strategy:
        return _weighted(
            (3, _fields(do=st.just("end_of_line"), how=_any_of(("normal", "broken")))),
            (1, self.holding()),
            (2, _just(do="release")),
            (1, _just(do="hold_response_create")),
            (1, self.connecting()),
        )

    def holding(self) -> Strategy:
        kinds = ("audio", "item_updated", "transcript_delta", "turn_started", "raw_server_event")
        return _fields(
            do=st.just("hold"),
            kinds=st.lists(_any_of(kinds), min_size=1, max_size=3, unique=True),
            closes=_any_of((_ABSENT, _ABSENT, "model", "session")),
            first=st.booleans(),
        )

    # Blocks.

    def about_one_item(self) -> Strategy:
        """One item is told in several events."""
        return _one_of([self._about_item(item_id) for item_id in ("a1", "u1", "s1", "a1", "u1")])

    def _about_item(self, item_id: str) -> Strategy:
        partial = {
            "assistant": self.transcript_delta((item_id,)),
            "user": self.transcription((item_id,)),
            "system": _just(do="again"),
        }[_ROLES[item_id]]
        events = _weighted(
            (5, self.snapshot((item_id,))),
            (3, partial),
            (1, _just(do="again")),
            (1, self.response()),
        )
        return _steps(self.snapshot((item_id,)), st.lists(events, max_size=8))

    def speaking(self) -> Strategy:
        """The assistant is in the middle of a response."""
        more = _weighted((2, self.audio()), (1, self.transcript_delta()), (1, self.snapshot()))
        return _steps(
            _maybe(self.session()),
            self.response_created(),
            self.audio(),
            st.lists(more, max_size=2),
            _maybe(_weighted((1, self.speech()), (1, self.action()))),
        )

    def probe(self) -> Strategy:
        """What shows what a model remembers."""
        return _weighted(
            (3, self.speech()),
            (2, self.transcription()),
            (1, self.truncation()),
            (3, self.action()),
            (1, self.audio()),
            (1, self.response()),
        )

    def reconnecting(self) -> Strategy:
        """The session is closed in mid-response, or later, and another one follows."""
        ending = _weighted((6, self.closing()), (1, self.rare()))
        second = _weighted((1, self.closing()), (1, _just(do="release")))
        return _steps(
            _maybe(self.speaking()).map(_flattened),
            ending,
            _maybe(second),
            self.connecting(),
            st.lists(self.probe(), max_size=3),
        )

    def outliving(self) -> Strategy:
        """A handler swallows its cancellation, and goes on when there is another connection.

        From 0.4.1 close() waits for it, unless the handler is what closes, or that is cancelled.
        """
        by_handler = _any_of(("model", "session")).flatmap(lambda owner: self._held(owner))
        by_others = _steps(
            self._held(_ABSENT),
            _fields(
                do=st.just("close"),
                owner=_any_of(("model", "session")),
                line=_any_of(("plain", "plain", "raises", "hangs")),
                cancel=_any_of(("during", "during", _ABSENT)),
            ),
        )
        asking = _steps(self.response_created(), _just(do="send_raw", message=_RESPONSE_CREATE))
        after = _weighted(
            (3, self.transcription()),
            (2, self.truncation()),
            (2, self.response_done()),
            (2, self.speech()),
            (3, self.action()),
        )
        return _steps(
            _maybe(self.session()),
            _maybe(self.response_created()),
            _maybe(self.audio()),
            _weighted((3, by_handler), (2, by_others)),
            _just(do="connect"),
            _weighted((1, asking), (2, st.lists(self.probe(), max_size=2))),
            _just(do="release"),
            st.lists(after, min_size=1, max_size=3),
        )

    def _held(self, closes: Any) -> Strategy:
        """A handler is held, in what follows from one event of the server."""
        calls = self.tool_call()
        kinds = [
            (("raw_server_event",), self.audio()),
            (("raw_server_event",), self.speech()),
            (("raw_server_event",), _weighted((1, self.transcription()), (1, calls))),
            (("raw_server_event",), _weighted((1, self.session()), (1, self.response()))),
            (("audio",), self.audio()),
            (("audio_interrupted",), self.speech()),
            (("item_updated",), _weighted((1, self.snapshot()), (1, calls))),
            (("transcript_delta",), self.transcript_delta()),
            (("turn_started", "turn_ended"), self.response()),
        ]
        return _one_of(
            [
                _steps(
                    _fields(
                        do=st.just("hold"),
                        kinds=st.just(list(names)),
                        closes=st.just(closes),
                        first=st.booleans(),
                    ),
                    trigger,
                    _maybe(self.audio()),
                )
                for names, trigger in kinds
            ]
        )

    def asking_late(self) -> Strategy:
        """Something is asked of a connection that is being closed."""
        return _steps(
            _maybe(self.response_created()),
            _fields(
                do=st.just("close"), owner=_any_of(("model", "session")), line=st.just("hangs")
            ),
            st.lists(self.action(), min_size=1, max_size=2),
            _just(do="release"),
            _just(do="connect"),
            st.lists(self.response(), min_size=1, max_size=3),
        )

    def cancelling(self) -> Strategy:
        """A close is cancelled while a response.create is on its way out."""
        closing = _fields(
            do=st.just("close"),
            owner=_any_of(("model", "session")),
            line=_any_of(("plain", "hangs", "raises")),
            cancel=_any_of(("during", "before")),
        )
        return _steps(
            _maybe(self.speaking()).map(_flattened),
            _maybe(self.response_done()),
            _just(do="hold_response_create"),
            _fields(do=st.just("send_message"), message=st.just("Hello")),
            closing,
            _maybe(self.audio()),
            _just(do="release"),
            st.lists(self.probe(), max_size=2),
        )
