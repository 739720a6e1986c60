"""Kafka's own administrative requests, for commands that show exactly what a broker answers.

kafka-python's admin client keeps types, documentation and some error messages to itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from console.client import refusal
from console.errors import CommandError, Refused
from console.wire import NotKawal
from console.wire import ask as ask_server
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponseTopic

ADDRESSES_VERSION: Final = 7
"""The version of Metadata that tells addresses, which all brokers since Kafka 2.1 know."""


class ConfigKind(NamedTuple):
    """A kind of resource that has configurations."""

    number: int
    word: str
    of_one_node: bool
    """Only the node itself can show and change its configurations."""


KINDS = {
    "topic": ConfigKind(2, "topic", False),
    "broker": ConfigKind(4, "broker", True),
    "group": ConfigKind(32, "group", False),
    "logger": ConfigKind(8, "logger of broker", True),
}


def ask(bootstrap: str, request: Any, version: int) -> Any:
    """Send a request to a broker and return its answer.  Raises: CommandError."""
    try:
        return ask_server(bootstrap, request, version)
    except NotKawal as error:
        name = type(request).__name__.removesuffix("Request")
        raise CommandError(
            f"{bootstrap} closed the connection on {name} v{version}: it is not a Kafka broker, or is "
            "older than Kafka 2.8"
        ) from error


def ask_private(bootstrap: str, request: Any) -> Any:
    """Send a request that only Kawal knows, and return its answer.  Raises: NotKawal, CommandError."""
    return ask_server(bootstrap, request, 0)


def check(code: int, message: str | None, what: str) -> None:
    """Raise Refused, naming `what`, unless the code is 0."""
    if code:
        raise Refused(code, f"{what}: {refusal(code, message)}")


FENCED_VERSION: Final = 2
"""The first version of DescribeCluster that tells of brokers that are away (KIP-1073)."""


def describe_cluster(bootstrap: str, *, with_fenced: bool = False) -> DescribeClusterResponse:
    """Return the brokers of the cluster; `with_fenced`: also those that are away.  Raises: CommandError."""
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, include_fenced_brokers=with_fenced
    )
    answer: DescribeClusterResponse = ask(bootstrap, request, FENCED_VERSION if with_fenced else 0)
    check(answer.error_code, answer.error_message, bootstrap)
    return answer


def all_topics(bootstrap: str) -> list[MetadataResponseTopic]:
    """Return every topic, the broker's own included.  Raises: CommandError.

    A client library would take longer to start than the answer takes.
    """
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    found: list[MetadataResponseTopic] = ask(bootstrap, request, 12).topics
    return found


def addresses(bootstrap: str) -> list[str]:
    """Return the address of every broker, for what each tells of itself alone.  Raises: CommandError."""
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    brokers = ask(bootstrap, request, ADDRESSES_VERSION).brokers
    if len(brokers) == 1:
        return [bootstrap]
    hosts = (f"[{broker.host}]" if ":" in broker.host else broker.host for broker in brokers)
    return [f"{host}:{broker.port}" for host, broker in zip(hosts, brokers, strict=True)]


def address_of_node(bootstrap: str, node: str | None) -> tuple[str, str]:
    """Return the id and the address of a node; None: of the controller.

    Raises: CommandError when there is no such node.
    """
    cluster = describe_cluster(bootstrap)
    wanted = str(cluster.controller_id) if node is None else node
    for broker in cluster.brokers:
        if str(broker.broker_id) == wanted:
            host = f"[{broker.host}]" if ":" in broker.host else broker.host
            return wanted, f"{host}:{broker.port}"
    ids = ", ".join(str(broker.broker_id) for broker in cluster.brokers)
    raise CommandError(f"there is no broker {wanted!r}; the brokers of {bootstrap} are {ids}")
