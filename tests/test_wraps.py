"""Wraps in detail, on a class that the tests make up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import wrapt

from shim.wraps import Fix, InstalledWrap, Method, Switch, Wrap, release_key

MODULE = "made_up_module"


def louder(original: Method, switch: Switch) -> Method:
    def say_it_louder(self: Any, words: str) -> str:
        return f"{original(self, words)}!" if switch.on else original(self, words)

    return say_it_louder


def theirs(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Somebody else's wrapper."""
    return f"({wrapped(*args, **kwargs)})"


def make_module() -> ModuleType:
    class Speaker:
        def say(self, words: str) -> str:
            return words

        @classmethod
        def shout(cls, words: str) -> str:
            return f"{cls.__name__}: {words.upper()}"

    module: Any = ModuleType(MODULE)
    module.Speaker = Speaker
    return module  # type: ignore[no-any-return]


@pytest.fixture
def module() -> Iterator[ModuleType]:
    module = make_module()
    sys.modules[MODULE] = module
    yield module
    sys.modules.pop(MODULE, None)


def wrap(attribute: str = "Speaker.say", **fields: Any) -> Wrap:
    return Wrap(module=MODULE, attribute=attribute, decorator=louder, **fields)


def put_on_top(module: Any) -> None:
    """Wrap what the class has in another wrapper."""
    module.Speaker.say = wrapt.FunctionWrapper(vars(module.Speaker)["say"], theirs)


def test_the_key_of_a_release_sorts_by_number() -> None:
    assert release_key("0.22.3") == (0, 22, 3)
    assert release_key("0.2.11") > release_key("0.2.9")


@pytest.mark.parametrize(
    ("first", "last", "releases"),
    [
        (None, None, ["0.2.9", "0.2.10", "0.2.11", "0.3.0"]),
        ("0.2.10", None, ["0.2.10", "0.2.11", "0.3.0"]),
        (None, "0.2.10", ["0.2.9", "0.2.10"]),
        ("0.2.10", "0.2.11", ["0.2.10", "0.2.11"]),
        ("0.2.10", "0.2.10", ["0.2.10"]),
    ],
)
def test_the_releases_that_a_wrap_is_for(
    first: str | None, last: str | None, releases: list[str]
) -> None:
    chosen = wrap(first=first, last=last)
    candidates = ["0.2.9", "0.2.10", "0.2.11", "0.3.0"]
    assert [each for each in candidates if chosen.applies_to(each)] == releases


def test_the_names_of_a_wrap() -> None:
    assert (wrap().class_name, wrap().method_name) == ("Speaker", "say")
    assert not wrap().only_watches


def test_the_wraps_of_a_module_in_their_order() -> None:
    here = (wrap("Speaker.shout"), wrap(), wrap())
    elsewhere = Wrap(module="another", attribute="Speaker.say", decorator=louder)
    fix = Fix(name="made-up", issues=(), wraps=(here[0], elsewhere, *here[1:]))
    assert fix.wraps_in(MODULE) == here
    assert fix.wraps_in("another") == (elsewhere,)


def test_a_method_is_wrapped_for_everybody(module: Any) -> None:
    before = module.Speaker()
    original = module.Speaker.say
    installed = InstalledWrap(wrap(), module)
    assert before.say("hi") == "hi!"
    assert before.say(words="hi") == "hi!"
    assert installed.is_in_place()
    assert installed.wrap == wrap()
    # It looks like the original.
    assert module.Speaker.say.__name__ == "say"
    assert module.Speaker.say.__wrapped__ is original


def test_a_class_method_stays_one(module: Any) -> None:
    class Heir(module.Speaker):  # type: ignore[misc]
        pass

    installed = InstalledWrap(wrap("Speaker.shout"), module)
    assert installed.is_in_place()
    assert isinstance(vars(module.Speaker)["shout"], classmethod)
    assert module.Speaker.shout("hi") == "Speaker: HI!"
    assert module.Speaker().shout("hi") == "Speaker: HI!"
    assert Heir.shout("hi") == "Heir: HI!"


@pytest.mark.parametrize(
    ("attribute", "error"), [("Listener.say", AttributeError), ("Speaker.sing", KeyError)]
)
def test_what_is_not_there_cannot_be_wrapped(
    module: Any, attribute: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        InstalledWrap(wrap(attribute), module)


def test_somebody_elses_wrapper_below_is_called_as_ever(module: Any) -> None:
    put_on_top(module)
    installed = InstalledWrap(wrap(), module)
    assert module.Speaker().say("hi") == "(hi)!"
    assert module.Speaker().say(words="hi") == "(hi)!"
    assert module.Speaker.say.__name__ == "say"
    assert installed.is_in_place()


def test_somebody_elses_wrapper_of_a_class_method_below(module: Any) -> None:
    class Heir(module.Speaker):  # type: ignore[misc]
        pass

    module.Speaker.shout = wrapt.FunctionWrapper(vars(module.Speaker)["shout"], theirs)
    installed = InstalledWrap(wrap("Speaker.shout"), module)
    assert module.Speaker.shout("hi") == "(Speaker: HI)!"
    assert Heir.shout("hi") == "(Heir: HI)!"
    assert installed.is_in_place()
    installed.remove()
    assert Heir.shout("hi") == "(Heir: HI)"


def test_a_descriptor_below_is_bound_to_the_instance(module: Any) -> None:
    class Descriptor:
        """What replaces a method without being a function."""

        def __get__(self, instance: Any, owner: type) -> Callable[[str], str]:
            return lambda words: f"{words} on {type(instance).__name__} of {owner.__name__}"

    module.Speaker.say = Descriptor()
    InstalledWrap(wrap(), module)
    assert module.Speaker().say("hi") == "hi on Speaker of Speaker!"


def test_two_wraps_of_one_method(module: Any) -> None:
    first, second = InstalledWrap(wrap(), module), InstalledWrap(wrap(), module)
    assert module.Speaker().say("hi") == "hi!!"
    assert first.is_in_place()
    assert second.is_in_place()
    second.remove()
    first.remove()
    assert module.Speaker().say("hi") == "hi"


@pytest.mark.parametrize("method", ["say", "shout"])
def test_the_original_object_comes_back(module: Any, method: str) -> None:
    original = vars(module.Speaker)[method]
    installed = InstalledWrap(wrap(f"Speaker.{method}"), module)
    assert vars(module.Speaker)[method] is not original
    installed.remove()
    assert vars(module.Speaker)[method] is original
    assert not installed.is_in_place()
    assert not installed.restore()


def test_under_another_wrapper_it_is_switched_off_and_on(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    put_on_top(module)
    outermost = vars(module.Speaker)["say"]
    speaker = module.Speaker()
    assert speaker.say("hi") == "(hi!)"

    installed.remove()
    assert vars(module.Speaker)["say"] is outermost
    assert speaker.say("hi") == "(hi)"
    assert installed.is_in_place()

    assert installed.restore()
    assert vars(module.Speaker)["say"] is outermost
    assert speaker.say("hi") == "(hi!)"


def test_a_wrap_that_is_not_there_stays_off(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    ours = vars(module.Speaker)["say"]
    installed.remove()
    assert not installed.restore()
    module.Speaker.say = ours
    assert module.Speaker().say("hi") == "hi"


def test_it_is_found_below_a_wrapper_of_the_bound_method(module: Any) -> None:
    installed = InstalledWrap(wrap("Speaker.shout"), module)
    # As `Speaker.shout = decorator(Speaker.shout)` has it.
    bound = module.Speaker.shout
    module.Speaker.shout = wrapt.FunctionWrapper(bound, theirs)
    assert module.Speaker.shout("hi") == "(Speaker: HI!)"
    assert installed.is_in_place()


def test_it_is_not_found_where_another_one_is(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    installed.remove()
    another = InstalledWrap(wrap(), module)
    assert another.is_in_place()
    assert not installed.is_in_place()
    installed.remove()
    assert module.Speaker().say("hi") == "hi!"


def test_it_is_not_found_below_one_that_does_not_say_what_it_wraps(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    ours = vars(module.Speaker)["say"]
    module.Speaker.say = lambda self, words: ours(self, words)
    assert not installed.is_in_place()


def test_it_is_not_found_on_a_class_that_has_taken_the_place(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    module.Speaker = type("Speaker", (), {"say": vars(module.Speaker)["say"]})
    assert not installed.is_in_place()


@pytest.mark.parametrize("there", [None, ModuleType(MODULE)], ids=["none", "another"])
def test_it_is_not_found_where_the_module_was_loaded_again(module: Any, there: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    sys.modules[MODULE] = there
    assert not installed.is_in_place()


def test_it_is_not_found_where_the_method_is_gone(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    del module.Speaker.say
    assert not installed.is_in_place()
    installed.remove()
    assert "say" not in vars(module.Speaker)


def test_a_chain_of_wrappers_that_never_ends(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)

    def endless(self: object, words: str) -> str:
        return words

    endless.__wrapped__ = endless  # type: ignore[attr-defined]
    module.Speaker.say = endless
    assert not installed.is_in_place()


def test_many_wrappers_on_top(module: Any) -> None:
    installed = InstalledWrap(wrap(), module)
    for _ in range(20):
        put_on_top(module)
    assert installed.is_in_place()
