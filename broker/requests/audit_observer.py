"""The watcher of logins and of denied requests on an audited server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from broker.loop.auditor import Client, actor_of, api_name, client_of
from broker.loop.call import Call
from broker.requests.audited_requests import WATCHED, Watcher, error_name
from broker.requests.gate import Refused
from broker.requests.refusals import refusal
from broker.security.acls import CLUSTER_NAME
from broker.security.audit_trail import refusal_text
from protocol.error_codes import ErrorCode
from protocol.schema import declaration

DENIED: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
"""The errors that say that a client may not do what it asks for."""

NAMES: Final = ("name", "topic", "topic_name", "group_id", "resource_name", "transactional_id", "key", "user")
"""The fields of answers, and of requests, that name what is denied."""

SHOWN_MAX: Final = 5
VISITED_MAX: Final = 500
"""The items of an answer that are looked at for names: an answer may have 100,000."""

OPERATOR: Final = "(the operator)"
"""The user of changes in files and on command lines of the host."""

_CLAIMED: Final = re.compile(r"user (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")


class AuditObserver(Watcher):
    """The `Auditor` of a server."""

    def begin(self, call: Call[Any]) -> object | None:
        """Look at what a request of WATCHED would change; return the verdict if it may not."""
        begin = WATCHED.get(call.api_key)
        if begin is None:
            return None
        answered = begin(self, call)
        if answered is not None and self.blocked:
            text = refusal_text(self.blocked)
            return Refused(lambda: refusal(call.api_key, call.request, ErrorCode.POLICY_VIOLATION, text))
        call.audited = answered
        return None

    def accepted(self, client: Client, how: str) -> None:
        """Record a login."""
        kind = (client.principal, client.listener)
        self.trail.record_limited("login.ok", kind, source=client.host, **_login_of(client), mechanism=how)

    def refused(self, client: Client, why: str) -> None:
        """Record a client that was not let in; the name that it claimed is no user of the event."""
        claimed = _CLAIMED.search(why)
        name = (claimed[1] or claimed[2] or "") if claimed else ""
        self.trail.record_limited(
            "login.failed",
            (client.listener, name),
            source=client.host,
            outcome="denied",
            **_login_of(client),
            claimed=name,
            reason=why,
        )

    def reloaded(self, changes: Mapping[str, str]) -> None:
        """Record what the operator has changed in the file of settings."""
        self.trail.record("configs.reloaded", user=OPERATOR, after=changes)

    def users_changed(self, path: str, *, added: list[str], removed: list[str], changed: list[str]) -> None:
        """Record what the operator has changed in a file of hashed passwords: the names, and no more."""
        self.trail.record(
            "users.reloaded",
            user=OPERATOR,
            resource={"type": "file", "name": path},
            added=added or None,
            removed=removed or None,
            changed=changed or None,
        )

    def user_added(self, name: str) -> None:
        """Record a user whom the operator has added at the start."""
        mechanisms = sorted(self.broker.catalogue.scram_credentials.get(name, {}))
        self.trail.record(
            "user.added",
            user=OPERATOR,
            resource={"type": "user", "name": name},
            after={"mechanisms": mechanisms, "new": mechanisms},
        )

    def failed(self, call: Call[Any], response: object) -> None:
        """Record an answer that denies something; other errors are no matter of security."""
        codes = sorted(DENIED.intersection(call.errors or ()))
        if not codes:
            return
        names = _Names(response, self.broker.catalogue).found
        if not names and call.request is not None:
            names = list(_own_names(call.request))
        if not names and ErrorCode.CLUSTER_AUTHORIZATION_FAILED in codes:
            names = [CLUSTER_NAME]
        actor = actor_of(call)
        self.trail.record_limited(
            "request.denied",
            (str(actor["user"]), api_name(call.api_key), *names),
            source=call.connection.host,
            outcome="denied",
            **actor,
            resources=names,
            errors=[error_name(code) for code in codes],
        )


def _login_of(client: Client) -> dict[str, object]:
    return {**client_of(client), "client_id": client.client.client_id}


def _own_names(message: Any) -> Iterator[str]:
    """Yield the names that a message gives at its top."""
    for field in NAMES:
        value = getattr(message, field, None)
        if isinstance(value, str) and value:
            yield value


class _Names:
    """The first names of what an answer denies."""

    def __init__(self, response: object, catalogue: Any) -> None:
        self.found: list[str] = []
        self._catalogue = catalogue
        self._left = VISITED_MAX
        if hasattr(type(response), "__wire__"):
            self._look(response, "")

    def _look(self, item: Any, name: str) -> None:
        """Look at an item and at those inside it, which have its name unless they have their own."""
        self._left -= 1
        if self._left < 0 or len(self.found) >= SHOWN_MAX:
            return
        name = next(_own_names(item), "") or self._by_id(item) or name
        if getattr(item, "error_code", 0) in DENIED and name and name not in self.found:
            self.found.append(name)
        for field in declaration(type(item)).fields:
            value = getattr(item, field.name, None)
            if isinstance(value, list) and value and hasattr(type(value[0]), "__wire__"):
                for inner in value:
                    self._look(inner, name)
                    if self._left < 0 or len(self.found) >= SHOWN_MAX:
                        return

    def _by_id(self, item: Any) -> str:
        topic = self._catalogue.by_id.get(getattr(item, "topic_id", None))
        return "" if topic is None else str(topic.name)
