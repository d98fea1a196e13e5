"""Large and deep content: the time that an update takes grows no faster than its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from .comparison import Comparison
from .conversation import Emitted, Step
from .sdk import Sdk
from .values import Deep, Made

Make = Callable[[int], Any]
Content = list[Any]
Shape = Callable[[int], tuple[Content, Content]]
"""Given a number of parts, known content and that of an update."""

_DELTAS = 100


def part(name: str, **fields: Any) -> Made:
    return Made(name, fields)


def text(number: int) -> Made:
    return part("InputText", text=f"text {number}")


def audio(number: int) -> Made:
    return part("InputAudio", transcript=f"transcript {number}")


def image(number: int) -> Made:
    return part("InputImage", image_url=f"https://example.com/{number}")


def other_image(number: int) -> Made:
    return part("InputImage", image_url=f"https://example.com/other/{number}")


def image_without_url(number: int) -> Made:
    return part("InputImage", detail="low")


def same_image(number: int) -> Made:
    return image(0)


def text_or_audio(number: int) -> Made:
    return (text, audio)[number % 2](number)


def any_kind(number: int) -> Made:
    return (text, audio, image)[number % 3](number)


def unknown_kind(number: int) -> Made:
    return Made("InputText", {"type": f"kind_{number}"}, "unchecked")


def no_part(number: int) -> Any:
    return {"type": "input_text", "text": "no model"}


def many(make: Make, count: int) -> Content:
    return [make(number) for number in range(count)]


def both(known: Make, update: Make) -> Shape:
    return lambda count: (many(known, count), many(update, count))


SHAPES: dict[str, Shape] = {
    "texts": both(text, text),
    "many, and none": lambda count: (many(text, count), []),
    "many, and one of another kind": lambda count: (many(text, count), [audio(0)]),
    "many, and one of them": lambda count: (many(text, count), [text(0)]),
    "one, and many": lambda count: ([audio(0)], many(text, count)),
    "texts, and then audio": both(text, audio),
    "two kinds in turn": both(text_or_audio, text_or_audio),
    "two kinds in another order": lambda count: (
        many(text_or_audio, count),
        [*many(text, count // 2), *many(audio, count // 2)],
    ),
    "half of two kinds": lambda count: (
        many(text_or_audio, count),
        many(text_or_audio, count)[::2],
    ),
    "unknown kinds from the end": lambda count: (
        many(unknown_kind, count),
        many(unknown_kind, count)[::-1],
    ),
    "unknown kinds, and texts": both(unknown_kind, text),
    "what is no part": both(no_part, no_part),
    "what is no part, and texts": both(no_part, text),
}

SHAPES_WITH_IMAGES: dict[str, Shape] = {
    "images": both(image, image),
    "images from the end": lambda count: (many(image, count), many(image, count)[::-1]),
    "other images": both(image, other_image),
    "images without a URL": both(image_without_url, image_without_url),
    "images that have lost their URLs": both(image, image_without_url),
    "images that have got URLs": both(image_without_url, image),
    "images, half of them without a URL": lambda count: (
        many(image, count),
        [*many(image_without_url, count // 2), *many(image, count)[::2]],
    ),
    "the same image": both(same_image, same_image),
    "all kinds from the end": lambda count: (many(any_kind, count), many(any_kind, count)[::-1]),
    "all kinds, and one image": lambda count: (many(any_kind, count), [image(2)]),
}


def updates(name: str, *contents: Content) -> list[Step]:
    """Return the steps in which an item gets these contents, one after another."""
    items = [Made(name, {"item_id": "x1", "content": content}) for content in contents]
    return [Emitted(Made("RealtimeModelItemUpdatedEvent", {"item": item})) for item in items]


@pytest.fixture
def parts(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--parts"))


@pytest.mark.parametrize("shape", [*SHAPES, *SHAPES_WITH_IMAGES])
def test_many_parts(shape: str, parts: int, comparison: Comparison, bare: Sdk) -> None:
    if shape in SHAPES_WITH_IMAGES and not bare.has("InputImage"):
        pytest.skip("0.2.x accept no images")
    known, update = {**SHAPES, **SHAPES_WITH_IMAGES}[shape](parts)
    comparison.check(updates("UserMessageItem", known, update))


def test_many_characters_in_place_of_parts(parts: int, comparison: Comparison) -> None:
    comparison.check(updates("AssistantMessageItem", "x" * parts, "y" * parts))  # type: ignore[arg-type]


def test_a_delta_for_many_parts(parts: int, comparison: Comparison) -> None:
    content = [*many(lambda _: part("AssistantText", text="text"), parts), part("AssistantAudio")]
    comparison.check([*updates("AssistantMessageItem", content), _delta("words")])


def test_many_deltas(comparison: Comparison) -> None:
    comparison.check(
        [
            *updates("AssistantMessageItem", [part("AssistantAudio")]),
            *[_delta("so much to say ")] * _DELTAS,
        ]
    )


def _delta(words: str) -> Step:
    fields = {"item_id": "x1", "delta": words, "response_id": "resp_1"}
    return Emitted(Made("RealtimeModelTranscriptDeltaEvent", fields))


@pytest.mark.parametrize("of", ["list", "dict"])
@pytest.mark.parametrize("depth", [100, 900, 10_000])
def test_deep_fields(depth: int, of: Literal["list", "dict"], comparison: Comparison) -> None:
    """Nothing goes into what a field holds, neither to compare it nor to copy it."""
    deep = Deep(depth, of)
    content = [
        part("AssistantAudio", more=deep),
        Made("AssistantText", {"text": deep}, "unchecked"),
    ]
    comparison.check(updates("AssistantMessageItem", content, content, [], content))
