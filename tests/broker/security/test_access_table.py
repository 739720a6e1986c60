"""The table of what each API needs is complete and consistent."""

from __future__ import annotations

from broker.security.access_table import ACCESS, Scope
from protocol.api_keys import ApiKey


def test_a_filter_has_no_error_and_every_other_check_has_one() -> None:
    for row in ACCESS.values():
        for check in row:
            assert (check.error is None) == (check.scope is Scope.FILTER)


def test_a_check_reads_as_its_operation_and_resource() -> None:
    assert ACCESS[ApiKey.END_TXN][0].text == "WRITE transactional id"
    assert ACCESS[ApiKey.LIST_GROUPS][0].text == "DESCRIBE group (or DESCRIBE cluster)"
