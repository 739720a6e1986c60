"""A look learns of sub-tables from where its history ends, and ends when what it learned is forgotten."""

from __future__ import annotations

from broker.view_topics.declared_tables import DeclaredTables
from broker.view_topics.learning import Learning
from broker.view_topics.stream_owners import StreamOwners
from tests.broker.gateway import Gateway
from tests.broker.kit import create


def tables_of(gateway: Gateway, **configs: str) -> DeclaredTables:
    create(gateway.client(), "t", 1, **configs)
    broker = gateway.broker
    owners = StreamOwners(broker.catalogue, broker.find_topic("t").database)
    return DeclaredTables(broker.views, gateway.partition("t").vnode, owners, None)


def test_without_tables_a_look_begins_where_it_is_asked_to() -> None:
    for tables in (None, tables_of(Gateway())):
        learning = Learning(tables, 0)
        assert (learning.begin(7), learning.is_current, learning.knows(99)) == (7, True, True)
        learning.passed(99)


def test_a_look_begins_where_the_history_ends_and_moves_that() -> None:
    tables = tables_of(Gateway(), **{"kawal.tables.declare": "auto"})
    learning = Learning(tables, 2)
    assert learning.begin(7) == 2
    assert not learning.knows(7)
    learning.passed(7)
    assert learning.knows(7)
    assert Learning(tables, 2).begin(9) == 7
    assert Learning(tables, 2).begin(5) == 5


def test_a_look_is_over_when_what_it_learned_is_forgotten() -> None:
    tables = tables_of(Gateway(), **{"kawal.tables.declare": "auto"})
    learning = Learning(tables, 0)
    learning.begin(7)
    tables.forget()
    assert not learning.is_current
    learning.passed(7)
    assert Learning(tables, 0).begin(7) == 0
