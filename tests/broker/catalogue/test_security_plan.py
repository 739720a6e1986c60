"""Records about security go to the tables that they are about, and take their changes back when lost."""

from __future__ import annotations

import pytest

from broker.catalogue.acl_table import AclTable
from broker.catalogue.catalogue_records import AclAdded, DelegationTokenSet
from broker.catalogue.quota_table import QuotaTable, record_of
from broker.catalogue.security_plan import SecurityRecord, plan_security
from broker.catalogue.token_table import TokenTable

TOKEN = DelegationTokenSet(
    token_id="t", owner="User:a", requester="User:a", issued_ms=1, expires_ms=2, ends_ms=3
)
RULE = AclAdded(
    resource_type=2, name="t", pattern_type=3, principal="User:a", host="*", operation=3, permission=3
)


@pytest.mark.parametrize(
    ("record", "sizes"),
    [(RULE, (1, 0, 0)), (record_of((("user", "a"),), {"k": 1.0}), (0, 1, 0)), (TOKEN, (0, 0, 1))],
)
def test_each_record_changes_its_table_and_may_be_lost(
    record: SecurityRecord, sizes: tuple[int, int, int]
) -> None:
    acls, quotas, tokens = AclTable(), QuotaTable(), TokenTable()
    _, undo = plan_security(record, acls, quotas, tokens)
    assert (len(list(acls)), len(quotas.values), len(tokens)) == sizes
    undo()
    assert (len(list(acls)), len(quotas.values), len(tokens)) == (0, 0, 0)
