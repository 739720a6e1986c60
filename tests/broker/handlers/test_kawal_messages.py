"""KawalMessages: ids of messages and places of ids, exact or with the reason why they are not known."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_messages import KawalMessagesRequest, MessageOffset
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import id_of, identified, located, place_of
from tests.broker.kit import batch, create, fetch, read, send
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic, stored
from tests.broker.topic_changes import alter


def test_each_message_has_an_id_that_leads_back_to_it(client: Client) -> None:
    identified(client, partitions=2)
    for values in ((b"a",), (b"b", b"c"), (b"d",), (b"e", b"f", b"g"), (b"h",)):
        send(client, "t", batch(*values), partition=1)

    ids = [id_of(client, offset, partition=1) for offset in range(8)]

    assert ids == [
        (0, 0, 1, -1), (0, 1, 1, 0), (0, 1, 1, 1), (0, 2, 1, -1),
        (1, 0, 1, 0), (1, 0, 1, 1), (1, 0, 1, 2), (1, 1, 1, -1),
    ]  # fmt: skip
    assert [place_of(client, found) for found in ids] == [(offset, True) for offset in range(8)]


def test_the_ledger_is_the_leader_epoch_of_the_batch(client: Client) -> None:
    identified(client, entries=1)
    for number in range(3):
        send(client, "t", batch(b"%d" % number))

    epochs = [int.from_bytes(bytes(fetch(client, "t", offset).records)[12:16], "big") for offset in range(3)]

    assert epochs == [id_of(client, offset)[0] for offset in range(3)] == [0, 1, 2]


def test_ids_survive_restarts_and_crashes(gateway: Gateway, client: Client) -> None:
    identified(client)
    for number in range(10):
        send(client, "t", batch(b"%d" % number))
    ids = [id_of(client, offset) for offset in range(10)]
    for end in (gateway.restart, gateway.crash, gateway.restart):
        end()
        client = gateway.client()
        assert [id_of(client, offset) for offset in range(10)] == ids
    send(client, "t", batch(b"next"))
    assert id_of(client, 10) == (3, 1, 0, -1)


def test_a_change_of_the_limits_applies_to_the_next_batch(client: Client) -> None:
    identified(client, entries=100)
    for number in range(4):
        send(client, "t", batch(b"%d" % number))
    alter(client, "t", "kawal.ledger.max.entries", "4")
    send(client, "t", batch(b"next"))
    assert id_of(client, 4) == (1, 0, 0, -1)


def test_a_topic_that_is_not_partitioned_says_so_in_its_ids(client: Client) -> None:
    identified(client, kawal_nonpartitioned="true")
    send(client, "t", batch(b"a"))

    assert id_of(client, 0) == (0, 0, -1, -1)
    assert place_of(client, (0, 0, -1, -1)) == (0, True)
    assert "is -1 (kawal.nonpartitioned), not 0" in str(place_of(client, (0, 0, 0, -1)))


@pytest.mark.parametrize(
    ("message_id", "sentence"),
    [
        ((0, 3, 0, -1), "ledger 0 of partition 0 has 3 entries"),
        ((1, 1, 0, -1), "ledger 1 of partition 0 has 1 entries"),
        ((2, 0, 0, -1), "ledger 2 of partition 0 has not begun: the newest is 1"),
        ((0, 1, 0, 2), "entry 1 of ledger 0 has 2 messages, none with batch index 2"),
        ((0, 0, 0, 1), "entry 0 of ledger 0 has 1 messages, none with batch index 1"),
        ((0, 0, 7, -1), "topic 't' has no partition 7: it has 1"),
        ((0, 0, -1, -1), "topic 't' has no partition -1: it has 1"),
    ],
)
def test_an_id_that_no_message_has_is_told_with_the_reason(
    client: Client, message_id: tuple[int, int, int, int], sentence: str
) -> None:
    identified(client)
    for values in ((b"a",), (b"b", b"c"), (b"d",), (b"e",)):
        send(client, "t", batch(*values))

    assert place_of(client, message_id) == sentence


def test_an_offset_without_a_message_is_told(client: Client) -> None:
    identified(client)
    send(client, "t", batch(b"a"))

    (found,) = located(client, 1)

    assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert found.error_message == "partition 0 has no message at offset 1: it has 0 to 0"


def test_topics_without_ids_and_too_many_look_ups_are_refused(client: Client) -> None:
    create(client, "plain")
    identified(client)
    item = MessageOffset(partition=0, offset=0)

    plain = client.call(KawalMessagesRequest(topic="plain", offsets=[item], ids=[]), 0)
    unknown = client.call(KawalMessagesRequest(topic="unknown", offsets=[item], ids=[]), 0)
    many = client.call(KawalMessagesRequest(topic="t", offsets=[item] * 1_001, ids=[]), 0)

    assert (plain.error_code, unknown.error_code, many.error_code) == (42, 3, 42)
    assert "created without kawal.message.ids=true" in plain.error_message
    assert many.error_message == "a request may look up 1000 messages at most"
    assert read(client, "plain") == []


def test_ids_go_on_over_a_split_and_those_of_the_child_are_its_own(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, kawal_message_ids="true", kawal_ledger_max_entries="2")
    send(client, "t", keyed((HIGH, b"1"), (LOW, b"2")))
    assert split(client) == (0, "")
    for number in range(4):
        sent = keyed((HIGH, b"h"), (LOW, b"l"), (None, b"n"), producer=(5, 0, 3 * number))
        assert send(client, "t", sent).error_code == 0
    send(client, "t", keyed((HIGH, b"alone"), producer=(5, 0, 12)))
    before = _ids(client)
    assert before[1] == [(0, 0, 1, -1), (0, 1, 1, -1), (1, 0, 1, -1), (1, 1, 1, -1), (2, 0, 1, -1)]
    assert len({*before[0], *before[1]}) == 15
    gateway.crash()
    client = gateway.client()
    assert _ids(client) == before


def _ids(client: Client) -> list[list[tuple[int, int, int, int]]]:
    """Return the ids of all messages of two partitions, each of which leads back to its message."""
    found = []
    for partition in (0, 1):
        ids = {
            offset: id_of(client, offset, partition=partition) for offset, _, _ in stored(client, partition)
        }
        assert {offset: place_of(client, known) for offset, known in ids.items()} == {
            offset: (offset, True) for offset in ids
        }
        found.append(list(ids.values()))
    return found
