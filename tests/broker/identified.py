"""Topics whose messages have ids, and the look-up of ids, for tests."""

from __future__ import annotations

from typing import Any

from protocol.messages.kawal_messages import KawalMessagesRequest, MessageId, MessageOffset
from tests.broker.gateway import Client
from tests.broker.kit import create

Id = tuple[int, int, int, int]
"""Ledger, entry, partition, batch index."""


def identified(
    client: Client, name: str = "t", partitions: int = 1, *, entries: int | str = 3, **configs: str
) -> None:
    """Create a topic whose ledgers have so many entries."""
    create(
        client, name, partitions, kawal_message_ids="true", kawal_ledger_max_entries=str(entries), **configs
    )


def located(
    client: Client, *offsets: int, ids: tuple[Id, ...] = (), name: str = "t", partition: int = 0
) -> Any:
    """Return the answers to look-ups."""
    request = KawalMessagesRequest(
        topic=name,
        offsets=[MessageOffset(partition=partition, offset=offset) for offset in offsets],
        ids=[
            MessageId(ledger=ledger, entry=entry, partition=index, batch_index=batch_index)
            for ledger, entry, index, batch_index in ids
        ],
    )
    answer = client.call(request, 0)
    assert answer.error_code == 0, answer
    return answer.messages


def id_of(client: Client, offset: int, name: str = "t", partition: int = 0) -> Id:
    """Return the id of the message at an offset."""
    (found,) = located(client, offset, name=name, partition=partition)
    assert found.error_code == 0, found
    assert found.partition_index == partition
    assert found.first_offset <= offset == found.offset <= found.last_offset
    return found.ledger, found.entry, found.partition, found.batch_index


def place_of(client: Client, message_id: Id, name: str = "t") -> tuple[int, bool] | str:
    """Return the offset of a message and whether it is exact, or the error's sentence."""
    (found,) = located(client, ids=(message_id,), name=name)
    return (found.offset, found.exact) if not found.error_code else str(found.error_message)
