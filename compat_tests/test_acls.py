"""Access rules over the wire: every request that needs access, refused and allowed as on Apache Kafka.

The client under test shows a certificate; the administrator's connection is ANONYMOUS, a super user.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from broker.connections.response_errors import errors_of
from broker.security.acls import Acl, PatternType, Permission, ResourceType
from broker.security.authorized_operations import Operation
from compat_tests.broker import Broker
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.conftest import StartBroker
from compat_tests.java import run_java
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import TIMEOUT_SECONDS, RawClient, raw_client
from protocol.api_keys import PRIVATE_FROM, ApiKey
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.access_cases import CASES, NAMES, Case
from tests.broker.groups import commit
from tests.broker.guarded import TOPIC, rule

ALICE = "User:CN=Dave,OU=dev,O=lab"
HOST_OF_CLIENTS = "127.0.0.1"
AUTHORIZATION = {29, 30, 31, 53, 65}

NO_CASE = {ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_REPLICA_LOG_DIRS}
"""Not sent: the first would write a marker of a transaction, the second names the broker's own directory."""


def on_both(case: Case) -> bool:
    """Whether Kafka knows the request, and nothing in it is Kawal's own.

    With the id of a replica a fetch needs CLUSTER_ACTION alone in Kafka, and READ as well in Kawal.
    """
    if case.api >= PRIVATE_FROM or case.api in NO_CASE:
        return False
    own = ("kawal", "view", "replica")
    return not any(word in check.when for check in case.needs for word in own)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def broker(start_broker: StartBroker, certificates: Certificates) -> Broker:
    """Start a broker with an authorizer."""
    broker = start_broker(
        **{
            "extra.listeners": "MUTUAL",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,MUTUAL:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.authority),
            "listener.name.mutual.ssl.client.auth": "required",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )
    create_topic(broker, "t", partitions=2)
    with raw_client(broker) as admin:
        # The coordinators' own topics are made, and loaded, before anything is compared.
        for kind, key in ((0, "g"), (1, "x")):
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            eventually(partial(_found, admin, request), waiting_for=f"the coordinator of {key}")
        eventually(partial(_committed, admin), waiting_for="offsets to be committed")
    return broker


def _found(admin: RawClient, request: FindCoordinatorRequest) -> bool:
    return not errors_of(admin.call(request, 4))


def _committed(admin: RawClient) -> bool:
    try:
        commit(admin, "g", ("t", 1, 0))  # type: ignore[arg-type]
    except AssertionError:
        return False
    return True


@contextmanager
def as_alice(broker: Broker, certificates: Certificates) -> Iterator[RawClient]:
    """Connect with a certificate."""
    with raw_client(broker) as client:
        client.socket.close()
        host, _, port = broker.bootstrap_of("MUTUAL").rpartition(":")
        context = ssl.create_default_context(cafile=str(certificates.authority))
        context.load_cert_chain(certificates.client)
        plain = socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS)
        client.socket = context.wrap_socket(plain, server_hostname="localhost")
        yield client


def put(admin: RawClient, *acls: Acl) -> None:
    creations = [
        AclCreation(
            resource_type=acl.resource_type,
            resource_name=acl.name,
            resource_pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )
        for acl in acls
    ]
    answer = admin.call(CreateAclsRequest(creations=creations), 3)
    assert [result.error_code for result in answer.results] == [0] * len(acls)


def clear(admin: RawClient) -> None:
    wanted = DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    assert admin.call(DeleteAclsRequest(filters=[wanted]), 3).filter_results[0].error_code == 0


def refusals(client: RawClient, case: Case) -> set[int]:
    answer = client.call(case.make(), case.version)
    codes = set(errors_of(answer) or ())
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        codes |= {result.partition_error_code for result in topic.results_by_partition}
    return codes & AUTHORIZATION


def settled(client: RawClient, case: Case, expected: set[int]) -> set[int]:
    """Return the refusals, once they are as expected or have been others for a while.

    Kafka answers that a rule was added before its broker has it.
    """
    found: list[set[int]] = []

    def is_expected() -> bool:
        found.append(refusals(client, case))
        return found[-1] == expected

    with suppress(AssertionError):
        eventually(is_expected, waiting_for="the rules to be in effect", within_seconds=20)
    return found[-1]


def ways(case: Case) -> dict[str, list[Acl]]:
    """Return rules by a word for what they do: each refuses or allows all that the case needs."""
    needs = [(check.operation, check.resource, NAMES[check.resource]) for check in case.needs]
    literal = [rule(*need, principal=ALICE) for need in needs]
    prefixed = [
        acl
        if acl.resource_type == ResourceType.CLUSTER
        else acl._replace(name=acl.name[:1], pattern_type=PatternType.PREFIXED)
        for acl in literal
    ]
    denial = [acl._replace(permission=Permission.DENY, principal="User:*") for acl in literal[:1]]
    return {
        "none": [],
        "allow": literal,
        "deny": [*literal, *denial],
        "prefixed": prefixed,
        "wildcard": [
            acl._replace(
                name=acl.name if acl.resource_type == ResourceType.CLUSTER else "*",
                operation=Operation.ALL,
                principal="User:*",
            )
            for acl in literal
        ],
        "host": [acl._replace(host=HOST_OF_CLIENTS) for acl in literal],
        "other host": [acl._replace(host="10.1.2.3") for acl in literal],
    }


ALLOWING = {"allow", "prefixed", "wildcard", "host"}


def test_every_api_is_allowed_and_refused_as_by_kafka(broker: Broker, certificates: Certificates) -> None:
    wrong: list[str] = []
    with raw_client(broker) as admin, as_alice(broker, certificates) as alice:
        for case in filter(on_both, CASES):
            for word, acls in ways(case).items():
                if acls:
                    put(admin, *acls)
                expected = set() if word in ALLOWING else {int(case.needs[0].error or 0)}
                if case.api == ApiKey.DELETE_TOPICS and not expected:
                    clear(admin)
                    continue  # it would be missed by the other cases
                found = settled(alice, case, expected)
                if found != expected:
                    wrong.append(f"{case.name} {word}: {found}, expected {expected}")
                clear(admin)
    assert wrong == [], "\n".join(wrong)


def test_checks_of_a_request_are_made_in_the_same_order(broker: Broker, certificates: Certificates) -> None:
    wrong: list[str] = []
    with raw_client(broker) as admin, as_alice(broker, certificates) as alice:
        for case in filter(on_both, CASES):
            for number, check in enumerate(case.needs[:-1], start=1):
                put(admin, rule(check.operation, check.resource, NAMES[check.resource], principal=ALICE))
                expected = {int(case.needs[number].error or 0)}
                found = settled(alice, case, expected)
                if found != expected:
                    wrong.append(f"{case.name} after {number}: {found}, expected {expected}")
            clear(admin)
    assert wrong == [], "\n".join(wrong)


def test_all_topics_are_those_that_may_be_seen(broker: Broker, certificates: Certificates) -> None:
    with raw_client(broker) as admin, as_alice(broker, certificates) as alice:

        def seen() -> list[Any]:
            return [topic.name for topic in alice.call(MetadataRequest(topics=None), 12).topics]

        assert seen() == []
        put(admin, rule(Operation.WRITE, TOPIC, "t", principal=ALICE))
        eventually(lambda: seen() == ["t"], waiting_for="the rule to be in effect")


def test_the_java_tool_adds_lists_and_removes_rules(broker: Broker) -> None:
    def tool(*arguments: str) -> str:
        command = ("org.apache.kafka.tools.AclCommand", "--bootstrap-server", broker.bootstrap)
        return run_java(*command, *arguments).stdout

    tool("--add", "--allow-principal", "User:bob", "--consumer", "--topic", "t", "--group", "g")
    eventually(lambda: "GROUP" in tool("--list"), waiting_for="the rules to be added")
    listed = tool("--list")
    assert "principal=User:bob, host=*, operation=READ, permissionType=ALLOW" in listed
    assert "resourceType=GROUP, name=g, patternType=LITERAL" in listed
    tool("--remove", "--force", "--allow-principal", "User:bob", "--consumer", "--topic", "t", "--group", "g")
    eventually(lambda: "User:bob" not in tool("--list"), waiting_for="the rules to be removed")
