"""Once an API is loaded for a version, its requests and answers need nothing more to be generated."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any, NoReturn

import pytest

from broker.connections import message_weight
from broker.connections.message_codecs import NARROW_ELEMENTS
from broker.handlers import APIS, Api
from protocol import schema, wire
from protocol.messages import response_type
from protocol.primitives import Buffer
from protocol.schema import ArrayOf, declaration
from tests.strategies import random_message

VERSIONS = [(api, version) for api in APIS.values() for version in range(api.minimum, api.nodes_maximum + 1)]


def classes_of(cls: type[Any]) -> list[type[Any]]:
    """Return the class of a message and those of all structs in it."""
    found = [cls]
    for field in declaration(cls).fields:
        inner = field.kind.element if isinstance(field.kind, ArrayOf) else field.kind
        if isinstance(inner, type):
            found += classes_of(inner)
    return found


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[Any]], None]:
    """Return a function that makes a class as new as when it was imported; other caches are empty."""
    for module, name in (
        (wire, "_decoders"),
        (wire, "_narrow_decoders"),
        (wire, "_encoders"),
        (wire, "_references"),
        (message_weight, "_weighs"),
    ):
        monkeypatch.setattr(module, name, {})

    def make_new(cls: type[Any]) -> None:
        for part in classes_of(cls):
            monkeypatch.setattr(part, "__init__", schema._first_init)

    return make_new


def refuse(*_: object) -> NoReturn:
    raise AssertionError("this should have been made before")


@pytest.fixture
def nothing_more(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after which nothing is made any more."""

    def close() -> None:
        for name in ("_make_decoder", "_make_narrow_decoder", "_make_encoder", "reference_codec"):
            monkeypatch.setattr(wire, name, refuse)
        monkeypatch.setattr(message_weight, "_make_weigh", refuse)
        monkeypatch.setattr(schema, "_write_init", refuse)

    return close


def encoded(message: Any, version: int) -> bytes:
    buffers: list[Buffer] = wire.encode(message, version)
    return wire.joined(buffers)


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda part: getattr(part, "name", part))
def test_a_first_request_of_a_loaded_version_makes_nothing_on_the_event_loop(
    api: Api,
    version: int,
    forget: Callable[[type[Any]], None],
    nothing_more: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bug: the first answer of a version wrote its encoder on the loop, a turn of 56 ms on a slow machine."""
    chance = Random(version)
    requests, answers = api.request_type(), response_type(api.key)
    asked = encoded(random_message(requests, version, chance), version)
    answer = random_message(answers, version, chance)
    for cls in (requests, answers):
        forget(cls)
    api.load((version,))
    modules = set(sys.modules)
    nothing_more()
    request, _ = wire.decode(requests, version, asked)
    if declaration(requests).hot:
        wire.decode_narrow(requests, version, asked, 0, NARROW_ELEMENTS)
    for message in (request, answer):
        message_weight.message_weight(message, len(asked))
    assert encoded(answer, version)
    for cls in classes_of(answers):
        assert cls.__init__ is not schema._first_init
    assert set(sys.modules) == modules
