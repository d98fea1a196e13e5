"""Copies of the SDK's models: `with_fields` has to give what pydantic's own `model_copy` does."""

from __future__ import annotations

from typing import Any

import pytest
from agents.realtime.items import AssistantAudio, AssistantMessageItem, InputText, UserMessageItem
from pydantic import BaseModel, PrivateAttr

from shim.said import said, says_something, with_fields


class WithSecret(BaseModel):
    name: str = "name"
    _secret: str = PrivateAttr(default="kept")


MODELS = {
    "part": AssistantAudio(transcript="Hello"),
    "part with an extra field": InputText(text="Hello", type="input_text", tag="extra"),  # type: ignore[call-arg]
    "item": AssistantMessageItem(
        item_id="item", role="assistant", status="completed", content=[AssistantAudio()]
    ),
    "item with an extra field": UserMessageItem(item_id="item", content=[], status="completed"),  # type: ignore[call-arg]
    "constructed without validation": AssistantAudio.model_construct(transcript=1),
    "private attribute": WithSecret(),
}


def state(model: Any) -> tuple[Any, ...]:
    return (
        type(model),
        vars(model),
        model.model_extra,
        model.model_fields_set,
        model.__pydantic_private__,
    )


@pytest.mark.parametrize(
    "fields",
    [{}, {"type": "audio"}, {"content": []}, {"tag": "new"}, {"status": "incomplete", "role": "x"}],
    ids=str,
)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_copy_is_what_model_copy_gives(model: Any, fields: dict[str, Any]) -> None:
    before = state(model.model_copy(deep=True))
    copied = with_fields(model, fields)
    assert state(copied) == state(model.model_copy(update=fields))
    # Nothing that can be changed in the copy is the original's.
    vars(copied)["type"] = "changed"
    copied.model_fields_set.add("changed")
    if copied.model_extra is not None:
        copied.model_extra["changed"] = True
    assert state(model) == before


@pytest.mark.parametrize(
    ("value", "is_news"),
    [(None, False), ("", False), ([], False), ("a", True), (["a"], True), (0, True), ({}, True)],
    ids=repr,
)
def test_a_value_is_news_unless_it_is_null_or_empty(value: object, is_news: bool) -> None:
    assert says_something(value) is is_news


def test_a_field_says_nothing_if_it_is_unset_null_or_empty() -> None:
    fields: dict[str, Any] = {"tag": "", "count": 0, "flag": False, "more": {}}
    item = UserMessageItem(item_id="item", previous_item_id=None, content=[], **fields)
    assert said(item) == {"item_id": "item", "count": 0, "flag": False, "more": {}}
    assert said(object()) == {}
