"""The changes that records about access rules, quotas and delegation tokens make: each goes to its table."""

from __future__ import annotations

from typing import TypeAlias

from broker.catalogue.acl_table import AclTable
from broker.catalogue.catalogue_records import (
    AclAdded,
    AclRemoved,
    ClientQuotas,
    DelegationTokenRemoved,
    DelegationTokenSet,
)
from broker.catalogue.database_table import Halves
from broker.catalogue.quota_table import QuotaTable
from broker.catalogue.token_table import TokenTable

SecurityRecord: TypeAlias = AclAdded | AclRemoved | ClientQuotas | DelegationTokenSet | DelegationTokenRemoved


def plan_security(record: SecurityRecord, acls: AclTable, quotas: QuotaTable, tokens: TokenTable) -> Halves:
    """Plan the change of the table that the record is about."""
    match record:
        case ClientQuotas():
            return quotas.plan(record)
        case AclAdded() | AclRemoved():
            return acls.plan(record)
        case DelegationTokenSet() | DelegationTokenRemoved():
            return tokens.plan(record)
