"""Short forms of requests about databases, for the tests of the broker."""

from __future__ import annotations

from protocol.messages.kawal_databases import (
    DatabaseAction,
    DatabaseItem,
    DatabaseResult,
    DatabaseSetting,
    KawalDatabasesRequest,
)
from tests.broker.gateway import Client


def asking(
    action: DatabaseAction, *names: str, validate_only: bool = False, **settings: str | None
) -> KawalDatabasesRequest:
    """Return a request about these databases; underscores in lower-case setting names stand for dots."""
    lines = [
        DatabaseSetting(name=key if key.isupper() else key.replace("_", "."), value=value)
        for key, value in settings.items()
    ]
    items = [DatabaseItem(name=name, settings=lines) for name in names]
    return KawalDatabasesRequest(action=action, databases=items, validate_only=validate_only)


def ask(
    client: Client,
    action: DatabaseAction,
    name: str,
    *,
    validate_only: bool = False,
    **settings: str | None,
) -> DatabaseResult:
    """Send a request about one database and return the answer."""
    request = asking(action, name, validate_only=validate_only, **settings)
    (result,) = client.call(request, 0).databases
    assert isinstance(result, DatabaseResult)
    return result


def create_database(client: Client, name: str, **settings: str | None) -> DatabaseResult:
    """Create a database."""
    result = ask(client, DatabaseAction.CREATE, name, validate_only=False, **settings)
    assert result.error_code == 0, result
    return result


def drop_database(client: Client, name: str) -> DatabaseResult:
    """Drop a database."""
    return ask(client, DatabaseAction.DROP, name)


def listed(client: Client) -> list[str]:
    """Return the names of all databases."""
    request = KawalDatabasesRequest(action=DatabaseAction.DESCRIBE, databases=None)
    return [database.name for database in client.call(request, 0).databases]
