"""Merging the content of an update into the content of the known item.

Parts are paired by what they are, not by where they stand, and none that is known is lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .said import said, with_fields

_IMAGE = "input_image"

# Pairs of what belongs together, as indexes: of the update's part, and of the known one.
_Pairs = dict[int, int]


def kind_of(part: Any) -> str | None:
    """Return the type of a part, such as ``input_text``; None if it has none."""
    kind = getattr(part, "type", None)
    return kind if isinstance(kind, str) else None


def merge_content(known: Sequence[Any], update: Sequence[Any]) -> list[Any]:
    """Return the parts of both, paired by what they are, in the update's order.

    A known part that the update does not bring stays, right after the part that it followed.
    """
    if len(known) == len(update) and all(map(_are_of_a_kind, known, update)):
        return list(map(_merge_parts, known, update))
    pairs = _pair(known, update)
    merged = list(update)
    for index, partner in pairs.items():
        merged[index] = _merge_parts(known[partner], update[index])
    return _with_left_over(known, merged, pairs)


def _are_of_a_kind(known: Any, part: Any) -> bool:
    """Tell whether both are of the same kind, and it is one that goes by order."""
    kind = kind_of(part)
    return kind == kind_of(known) and kind != _IMAGE


def _merge_parts(known: Any, part: Any) -> Any:
    news = said(part)
    if not hasattr(known, "model_copy"):
        # Who builds items by hand can put anything into them.
        return part if news else known
    return with_fields(known, news)


def _pair(known: Sequence[Any], update: Sequence[Any]) -> _Pairs:
    """Pair the n-th part of a kind with the n-th known one, and images by their URLs."""
    known_by_kind = _indexes_by_kind(known)
    pairs: _Pairs = {}
    for kind, indexes in _indexes_by_kind(update).items():
        candidates = known_by_kind.get(kind, [])
        if kind == _IMAGE:
            pairs |= _pair_images(
                {index: _url_of(known[index]) for index in candidates},
                {index: _url_of(update[index]) for index in indexes},
            )
        else:
            pairs.update(zip(indexes, candidates, strict=False))
    return pairs


def _indexes_by_kind(parts: Sequence[Any]) -> dict[str | None, list[int]]:
    indexes: dict[str | None, list[int]] = defaultdict(list)
    for index, part in enumerate(parts):
        indexes[kind_of(part)].append(index)
    return indexes


def _pair_images(known: Mapping[int, str | None], update: Mapping[int, str | None]) -> _Pairs:
    """Pair images, given as URLs by index.

    One with a URL is about the first unpaired known one of that URL; one without about the first
    unpaired one that no later image of the update has to be about.
    """
    unpaired = dict(known)
    available = Counter(unpaired.values())
    wanted = Counter(update.values())
    pairs: _Pairs = {}
    for index, url in update.items():
        wanted[url] -= 1
        for partner, known_url in unpaired.items():
            if url == known_url or (url is None and available[known_url] > wanted[known_url]):
                pairs[index] = partner
                available[known_url] -= 1
                del unpaired[partner]
                break
    return pairs


def _url_of(image: Any) -> str | None:
    url = getattr(image, "image_url", None)
    return url if isinstance(url, str) and url else None


def _with_left_over(known: Sequence[Any], merged: Sequence[Any], pairs: _Pairs) -> list[Any]:
    """Return the merged parts, and the unpaired known ones right after those that they followed.

    Where the update changed the order, a known part goes no earlier than behind the earlier ones
    of its kind, or the next update of the same content would pair differently.
    """
    positions = {partner: index for index, partner in pairs.items()}
    # By the number of merged parts that go before them.
    left_over: dict[int, list[Any]] = defaultdict(list)
    last_of_kind: dict[str | None, int] = defaultdict(int)
    place = 0
    for index, part in enumerate(known):
        kind = kind_of(part)
        if index in positions:
            place = positions[index] + 1
        elif kind is not None:  # Else it is no part, and the SDK would stumble over it.
            place = max(place, last_of_kind[kind])
            left_over[place].append(part)
        last_of_kind[kind] = max(place, last_of_kind[kind])
    content: list[Any] = []
    for position, part in enumerate(merged):
        content += [*left_over[position], part]
    return content + left_over[len(merged)]
