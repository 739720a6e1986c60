"""The rules for new views, and their words."""

from __future__ import annotations

import pytest

from broker.catalogue.view_admin import check_partition_count, is_definition, named
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.databases import create_database
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.topic_requests import asked


@pytest.mark.parametrize(
    ("configs", "expected"),
    [({}, False), ({"kawal.sql": None}, False), ({"kawal.sql": " "}, True), ({"kawal.sql": "x"}, True)],
)
def test_a_topic_with_a_statement_is_a_view(configs: dict[str, str | None], expected: bool) -> None:
    assert is_definition(configs) is expected


def test_a_view_has_the_partitions_of_its_source() -> None:
    check_partition_count("v", -1, 4, "t")
    check_partition_count("v", 4, 4, "t")
    with pytest.raises(RequestError) as refused:
        check_partition_count("v", 1, 4, "t")
    assert refused.value.code == ErrorCode.INVALID_PARTITIONS
    assert refused.value.message == (
        "view 'v' has the 4 partition(s) of 't', but 1 were asked for; ask for 4, or for -1"
    )


def test_a_refusal_names_a_few_views_and_counts_the_rest() -> None:
    assert named(["a"]) == "the view 'a'"
    assert named(["a", "b"]) == "the views 'a', 'b'"
    assert named([str(number) for number in range(7)]) == "the views '0', '1', '2', '3', '4' and 2 more"


@pytest.mark.parametrize("name", ["power.meters", "p.2.meters", "p.2.a.b", "power.x"])
def test_a_source_may_be_named_with_its_database(name: str) -> None:
    client = Gateway().client()
    for database in ("power", "p.2"):
        create_database(client, database, vnodes="1")
    create(client, "power.x", 1)
    database = "p.2" if name.startswith("p.2") else "power"
    for topic in ("meters", "a.b", "x"):
        create(client, topic, 1, **{"kawal.database": database})
    create(client, "v", -1, kawal_sql=f"SELECT * FROM {name}")
    view = client.gateway.broker.catalogue.by_name["v"].view
    assert view is not None
    # A topic that has exactly this name comes first.
    assert view.source == ("power.x" if name == "power.x" else name.removeprefix(f"{database}."))


def test_a_source_in_another_database_than_the_one_named_is_not_found() -> None:
    client = Gateway().client()
    create_database(client, "power", vnodes="1")
    create(client, "meters", 1)
    code, sentence = asked(client, "v", "SELECT * FROM power.meters")
    assert code == ErrorCode.INVALID_CONFIG
    assert "there is no topic 'power.meters'" in sentence
