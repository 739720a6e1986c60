"""Every error code of Kafka's table is provoked by a request, or there is a reason why it cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.compatibility import CASE_MODULES
from compat_tests.conftest import StartBroker
from compat_tests.error_cases.case import CASES, Case, Scene
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode

assert CASE_MODULES, "the modules that fill CASES"


@pytest.fixture
def connection(group_broker: Broker) -> Iterator[RawClient]:
    """Open a connection to a broker whose groups do not wait for more members."""
    with raw_client(group_broker) as client:
        yield client


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.code.name)
def test_the_code_is_provoked_and_its_message_names_thing_and_value(
    case: Case, group_broker: Broker, connection: RawClient, broker_kind: Kind, start_broker: StartBroker
) -> None:
    told = case.provoke(Scene(group_broker, connection, start_broker))
    expected = case.kafka if broker_kind == "kafka" else case.code
    assert ErrorCode(told.code) == expected, told
    if broker_kind == "kawal":
        missing = [word for word in case.names if word not in (told.message or "")]
        assert not missing, f"{case.code.name}: {told.message!r} does not say {missing}"


def test_every_other_code_than_kafkas_has_its_reason() -> None:
    assert all(bool(case.differs) == (case.kafka != case.code) for case in CASES.values())
