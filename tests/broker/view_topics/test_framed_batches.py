"""Views over values framed for a schema registry: their columns are those of the schema's JSON."""

from __future__ import annotations

import json
import logging

import pytest

from broker.view_topics.framed_batches import SCHEMAS_MAX, schema_ids, unframer
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from registry.errors import NotOfSchema
from tests.broker.gateway import START_MS, Client
from tests.broker.kit import batch, create, creation, fetch, fetching, send, values
from tests.broker.registries import WithRegistry, framed
from tests.broker.topic_requests import altered
from tests.broker.views import counters, named_client
from views.filtering import DEFAULT_LIMITS

AVRO = 50
SCHEMA = {
    "type": "record",
    "name": "flight",
    "fields": [{"name": "id", "type": "long"}, {"name": "delay", "type": "int"}],
}
COLUMNS = "id bigint, delay int"


def avro(number: int, delay: int) -> bytes:
    """Return a flight of the Avro schema; both numbers below 64."""
    return framed(AVRO, bytes([number << 1, delay << 1]))


def plain(number: int, delay: int, schema: int = 1) -> bytes:
    """Return a flight of a JSON schema."""
    return framed(schema, json.dumps({"id": number, "delay": delay}).encode())


def refusal(client: Client, name: str, partitions: int, **configs: str) -> tuple[int, str]:
    """Return what is said of a new topic."""
    request = CreateTopicsRequest(topics=[creation(name, partitions, **configs)])
    (made,) = client.call(request, 7).topics
    return made.error_code, made.error_message or ""


def opened(sql: str = "SELECT id FROM flights WHERE delay > 15") -> tuple[WithRegistry, Client]:
    gateway = WithRegistry(kawal_vnodes=1)
    gateway.pages[f"schemas/ids/{AVRO}"] = {"schema": json.dumps(SCHEMA)}
    client = named_client(gateway)
    create(client, "flights", kawal_columns=COLUMNS, kawal_value_format="registry")
    create(client, "late", partitions=-1, kawal_sql=sql)
    return gateway, client


def test_avro_and_json_values_are_read_by_their_schemas() -> None:
    _, client = opened()
    send(client, "flights", batch(avro(0, 20), plain(1, 30), avro(2, 5), plain(3, 5)))
    assert values(fetch(client, "late").records) == [b'{"id":0}', b'{"id":1}']


def test_what_stays_as_it_is_stays_framed() -> None:
    _, client = opened("SELECT * FROM flights WHERE delay > 15")
    send(client, "flights", batch(avro(0, 20), avro(1, 5)))
    assert values(fetch(client, "late").records) == [avro(0, 20)]


def test_each_schema_is_asked_for_once() -> None:
    gateway, client = opened()
    for number in range(5):
        send(client, "flights", batch(avro(number, 20)))
    assert len(values(fetch(client, "late").records)) == 5
    assert gateway.asked.count(f"schemas/ids/{AVRO}") == 1


def test_what_has_no_frame_no_schema_or_another_content_is_unfit() -> None:
    gateway, client = opened()
    wrong = [b'{"id":1,"delay":99}', framed(4_711), framed(AVRO, b"\x02"), framed(1, b"{"), b"", b"\0"]
    send(client, "flights", batch(*wrong, avro(7, 20)))
    assert values(fetch(client, "late").records) == [b'{"id":7}']
    assert counters(gateway, "late")[2] == len(wrong)


def test_a_deletion_has_no_columns() -> None:
    _, client = opened("SELECT id, delay FROM flights WHERE delay IS NULL")
    records = [Record(0, START_MS, b"k", None), Record(1, START_MS, b"k", avro(1, 1))]
    send(client, "flights", encode_batch(records))
    assert values(fetch(client, "late").records) == [b'{"id":null,"delay":null}']


def test_while_the_registry_is_away_the_view_shows_nothing_from_there_on_and_everything_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway, client = opened()
    send(client, "flights", batch(plain(0, 20)))
    assert values(fetch(client, "late").records) == [b'{"id":0}']
    gateway.away = True
    send(client, "flights", batch(avro(1, 20), plain(2, 20)))
    with caplog.at_level(logging.WARNING):
        data = fetch(client, "late", 1)
    assert (data.error_code, values(data.records)) == (0, [])
    assert "view 'late' waits for schemas: nothing answers" in caplog.text
    assert counters(gateway, "late")[2] == 0
    gateway.away = False
    gateway.advance(2_000)
    assert values(fetch(client, "late", 1).records) == [b'{"id":1}', b'{"id":2}']


def test_a_fetch_that_waits_at_the_end_gets_records_of_a_new_schema() -> None:
    gateway, client = opened()
    send(client, "flights", batch(plain(0, 20)))
    reader = gateway.client()
    reader.send(fetching({("late", 0): 1}, max_wait_ms=10_000), 12)
    gateway.settle()
    assert reader.answers() == []
    send(client, "flights", batch(avro(1, 20)))
    gateway.settle()
    gateway.advance(1_000)
    (answer,) = reader.answers()
    assert values(answer.responses[0].partitions[0].records) == [b'{"id":1}']


def test_a_view_keeps_its_format_when_the_topic_gets_another() -> None:
    gateway, client = opened()
    send(client, "flights", batch(avro(0, 20)))
    assert altered(client, "flights", "kawal.value.format", "json") == (0, "")
    gateway.restart()
    client = named_client(gateway)
    assert values(fetch(client, "late").records) == [b'{"id":0}']


def test_a_view_that_reads_no_values_needs_no_registry() -> None:
    gateway, client = opened("SELECT _offset FROM flights WHERE _offset > 0")
    gateway.away = True
    send(client, "flights", batch(avro(0, 20), b"anything"))
    assert values(fetch(client, "late").records) == [b'{"_offset":1}']


def test_a_batch_of_very_many_schemas_ends() -> None:
    gateway, client = opened()
    count = SCHEMAS_MAX + 50
    send(client, "flights", batch(*[plain(0, 20, schema=1_000 + at) for at in range(count)], plain(1, 20)))
    data = fetch(client, "late")
    for _ in range(20):
        if data.records:
            break
        gateway.advance(100)
        data = fetch(client, "late")
    assert sum(counters(gateway, "late")[1:]) == count + 1


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"kawal_schema_validation": "columns", "kawal_columns": COLUMNS}, "reads JSON"),
        ({"kawal_quarantine": "q", "kawal_columns": COLUMNS}, "judges JSON"),
    ],
)
def test_what_judges_json_does_not_go_with_it(configs: dict[str, str], problem: str) -> None:
    client = WithRegistry().client()
    code, message = refusal(client, "t", 1, kawal_value_format="registry", **configs)
    assert code == ErrorCode.INVALID_CONFIG
    assert problem in message


def test_unfit_judges_json_and_is_refused() -> None:
    _, client = opened()
    code, message = refusal(client, "bad", -1, kawal_sql="UNFIT flights")
    assert code == ErrorCode.INVALID_CONFIG
    assert "framed for a schema registry" in message


def test_the_schemas_of_a_batch_are_named_once_and_damage_names_none() -> None:
    made = bytes(batch(avro(0, 1), plain(0, 1), avro(1, 1), b"no frame"))
    assert schema_ids(memoryview(made), DEFAULT_LIMITS) == [AVRO, 1]
    assert schema_ids(memoryview(made[:-3]), DEFAULT_LIMITS) == []


def test_only_the_schemas_that_were_known_are_used() -> None:
    unframe = unframer({1: bytes, 2: "the schema registry has no schema 2"})
    assert unframe(framed(1, b"{}")) == b"{}"
    for value in (framed(2), framed(3), b"{}"):
        with pytest.raises(NotOfSchema):
            unframe(value)
