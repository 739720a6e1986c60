"""AlterUserScramCredentials: credentials are set, deleted, refused, and kept over a restart."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.handlers.scram import alter, deletion, describe, upsertion
from wal.memory_disk import MemoryDisk

UNACCEPTABLE, DUPLICATE = ErrorCode.UNACCEPTABLE_CREDENTIAL, ErrorCode.DUPLICATE_RESOURCE


def test_credentials_are_set_changed_and_deleted_by_mechanism() -> None:
    client = Gateway().client()
    assert alter(client, upsertion("a"), upsertion("b", 2, 8192)) == {"a": 0, "b": 0}
    assert alter(client, upsertion("a", 2)) == {"a": 0}
    assert describe(client) == {"a": [(1, 4096), (2, 4096)], "b": [(2, 8192)]}
    assert alter(client, deletion("a", 2), upsertion("b", 2, 5000)) == {"a": 0, "b": 0}
    assert describe(client) == {"a": [(1, 4096)], "b": [(2, 5000)]}
    assert alter(client, deletion("a")) == {"a": 0}
    assert describe(client) == {"b": [(2, 5000)]}


def test_they_outlive_a_restart() -> None:
    disk = MemoryDisk()
    first = Gateway(disk=disk)
    alter(first.client(), upsertion("a"), upsertion("b"))
    alter(first.client(), deletion("b"))
    disk.restart()
    assert describe(Gateway(disk=disk).client()) == {"a": [(1, 4096)]}


def test_a_user_named_twice_is_not_altered() -> None:
    client = Gateway().client()
    assert alter(client, upsertion("a"), upsertion("a", 2), upsertion("b")) == {"a": DUPLICATE, "b": 0}
    assert describe(client) == {"b": [(1, 4096)]}


def test_one_wrong_alteration_of_a_user_does_not_touch_the_others() -> None:
    client = Gateway().client()
    codes = alter(client, upsertion("few", 1, 1), upsertion("odd", 7), upsertion(""), upsertion("good"))
    assert codes == {
        "few": UNACCEPTABLE,
        "odd": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "": UNACCEPTABLE,
        "good": 0,
    }
    assert describe(client) == {"good": [(1, 4096)]}


def test_the_first_error_of_a_user_is_told() -> None:
    client = Gateway().client()
    assert alter(client, deletion("a"), upsertion("a")) == {"a": ErrorCode.RESOURCE_NOT_FOUND}
    assert alter(client, upsertion("a", 1, 1), upsertion("a")) == {"a": UNACCEPTABLE}
    assert describe(client) == {}
