"""What differs between the releases where the contract is silent, as data.

It is complete for 0.3.0 and later, and for 0.2.6 of the releases before.
"""

from __future__ import annotations

from importlib import metadata

RELEASE = metadata.version("openai-agents")

# The first release that does it. What a release did before is what the name denies.
_FIRST = {
    "speaks the GA protocol": "0.3.0",
    "accepts images": "0.3.0",
    # The history knows words of the assistant before a snapshot brings them.
    "puts transcript deltas into the history": "0.3.0",
    # Where no user message of the id is known.
    "adds a message for a transcription": "0.3.0",
    # In response.output_item.*; the parts' old names "text" and "audio" are read by all.
    "reads output_text in output": "0.6.5",
    "reads output_audio in output": "0.17.1",
    # Before that, the handler of the server event waits for the tool.
    "runs tools aside": "0.4.2",
    "tells text deltas": "0.19.3",
    # Which response is under way. Before that, the end of any response counts as the end of all.
    "keeps track of responses": "0.19.3",
}


def does(what: str, *, release: str = RELEASE) -> bool:
    """Tell whether a release, by default the installed one, does this."""
    return _key(release) >= _key(_FIRST[what])


def _key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
