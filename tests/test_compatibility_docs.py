"""docs/compatibility.md says what the code and the tests say, and leaves nothing unexplained."""

from __future__ import annotations

from broker.handlers import APIS, OF_NODES
from compat_tests.compatibility import CASE_MODULES, NOT_RUN, PAGE, kafka_versions, page
from compat_tests.error_cases.case import CASES
from compat_tests.error_cases.never import NEVER
from compat_tests.not_served import NOT_SERVED
from protocol.api_keys import PRIVATE_FROM, ApiKey
from protocol.error_codes import ErrorCode

AGAIN = "docs/compatibility.md is not what the code says: run python -m compat_tests.compatibility"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), AGAIN


def test_every_cell_of_the_clients_table_is_filled() -> None:
    assert f"| {NOT_RUN} |" not in page()


def test_every_api_of_kafka_is_served_or_has_a_reason() -> None:
    served = {key for key in APIS if key < PRIVATE_FROM and key not in OF_NODES}
    assert not served & NOT_SERVED.keys()
    assert served | NOT_SERVED.keys() == kafka_versions().keys()


def test_every_version_of_kafka_is_served() -> None:
    ours = {
        api.key: (api.advertised_minimum, api.maximum)
        for api in APIS.values()
        if api.key < PRIVATE_FROM and api.key not in OF_NODES
    }
    theirs = kafka_versions()
    # Its later versions are for brokers.
    assert ours.pop(ApiKey.ADD_PARTITIONS_TO_TXN) == (0, 3)
    assert ours == {key: theirs[key] for key in ours}


def test_every_error_code_has_a_case_or_a_reason() -> None:
    assert CASE_MODULES
    assert not CASES.keys() & NEVER.keys()
    assert CASES.keys() | NEVER.keys() == set(ErrorCode)
