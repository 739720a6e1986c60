"""Our bytes mean the same to kafka-python, whose codec is built straight from Kafka's specifications."""

from __future__ import annotations

import pkgutil
import warnings
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

import pytest

from protocol.schema import REQUIRED, declaration
from protocol.wire import encode, joined
from tests.protocol.conformance import is_specified
from tests.strategies import MESSAGE_VERSIONS, name_of, random_message

SPECIFIED = [(cls, version) for cls, version in MESSAGE_VERSIONS if is_specified(cls)]


@cache
def their_classes() -> dict[str, Any]:
    """Return kafka-python's message classes by name."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kafka-python 3.0 reads its specifications in a deprecated way.
        for part in ("admin", "consumer", "metadata", "producer"):
            package = import_module(f"kafka.protocol.{part}")
            for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                found.update(vars(import_module(module.name)))
        found.update(vars(import_module("kafka.protocol.sasl")))
    return found


@pytest.mark.parametrize(("cls", "version"), SPECIFIED, ids=name_of)
def test_kafka_python_reads_what_we_write(cls: type[Any], version: int) -> None:
    theirs = their_classes()[cls.__name__]
    chance = Random(f"{cls.__name__} {version}")
    for _ in range(3):
        # kafka-python accepts no unknown tags in tagged structs, and reads every ApiVersions error as v0.
        message = random_message(cls, version, chance, tagged=0)
        if cls.__name__ == "ApiVersionsResponse":
            message.error_code = 0
        data = joined(encode(message, version))
        assert differences(message, theirs.decode(data, version=version), cls.__name__) == []


def differences(ours: Any, theirs: Any, path: str) -> list[str]:
    """Return the differences between two values, field by field."""
    if isinstance(ours, list):
        if len(ours) != len(theirs):
            return [f"{path}: {len(ours)} elements, {len(theirs)} read"]
        return [
            found
            for mine, other in zip(ours, theirs, strict=True)
            for found in differences(mine, other, path)
        ]
    if not hasattr(type(ours), "__wire__"):
        return [] if ours == theirs else [f"{path}: {ours!r} was read as {theirs!r}"]
    found = []
    for field in declaration(type(ours)).fields:
        value = getattr(ours, field.name)
        if field.default is REQUIRED or value != field.default:
            found += differences(value, their_value(theirs, field.name), f"{path}.{field.name}")
    return found


def their_value(theirs: Any, name: str) -> Any:
    """Return one of their fields; bits of authorised operations are a set of numbers there."""
    bit_set = getattr(theirs, "authorized_operations", None)
    if not name.endswith("authorized_operations") or not isinstance(bit_set, set):
        return getattr(theirs, name)
    bits = sum(1 << number for number in bit_set)
    return bits - 2**32 if bits >= 2**31 else bits
