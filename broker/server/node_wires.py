"""The ways of a node to those on other machines: over TCP, to their listener for nodes, with its TLS.

    connect --> TLS, if the listener has it --> greeting: both show that they have the secret --> requests

A cut cable is noticed: what was sent and is not confirmed ends a connection after 10 s, and so do probes on
one that is idle or waits for an answer.
"""

from __future__ import annotations

import copy
import os
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker.catalogue.address_book import Address, AddressBook
from broker.config.endpoints import Endpoint
from broker.security.node_greeting import (
    NONCE_BYTES,
    Hello,
    Reply,
    is_proof,
    proof_of_asked,
    proof_of_asking,
)
from broker.server.listeners import StartError
from broker.server.made_links import MadeLinks
from broker.server.peer_links import LinkBroken, exchange, has_ended, left
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_greet import KawalGreetRequest, KawalGreetResponse
from protocol.schema import declaration

if TYPE_CHECKING:
    import ssl

CONNECT_SECONDS: Final = 5.0
"""The time for a connection with its TLS and greeting: a machine that is off does not answer at all."""

IDLE_SECONDS: Final = 4
PROBE_SECONDS: Final = 2
PROBES: Final = 3
"""A connection on which nothing comes is probed after 4 s, and has ended after three lost probes."""

UNCONFIRMED_MS: Final = 10_000
"""Bytes that the other machine does not confirm end a connection after this time."""

CLOCK_MS_MAX: Final = 300_000
"""The age from which on what a connection knows of the other clock is not used any more."""

DRIFT: Final = 0.001
"""The most by which two clocks move apart: the kernel slews each by half of it."""


class NodeRefused(StartError):
    """The other node does not take this one for a node of its cluster, or is none itself."""


class Clocks(NamedTuple):
    """The steady clock of another machine beside this one's."""

    theirs_ms: int
    """Its time when it answered."""
    own_ms: int
    """The time of this one when the answer was here: later."""

    def theirs(self, own_ms: int) -> int:
        """Return a moment of this machine's clock by the other one's: that moment, or a little before."""
        passed_ms = own_ms - self.own_ms
        return self.theirs_ms + passed_ms - int(abs(passed_ms) * DRIFT) - 1


class NodeWires:
    """The ways of this node to the others."""

    def __init__(
        self,
        book: AddressBook,
        secret: bytes,
        *,
        number: int,
        count: int,
        cluster_id: str,
        now_ms: Callable[[], int],
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """`tls` makes a context for each connection; None: the listener is not encrypted.

        `cluster_id` may be empty: it is learned from the first node that has shown the secret.
        """
        self.book = book
        self.links = MadeLinks()
        self.secret = secret
        self.number = number
        self.count = count
        self.cluster_id = cluster_id
        self.now_ms = now_ms
        self.tls = tls

    def to(self, number: int) -> NodeWire:
        """Return a way to the node of this number, for one thread."""
        return NodeWire(self, number)


class NodeWire:
    """The way to one of them."""

    def __init__(self, wires: NodeWires, to: int) -> None:
        self._wires = wires
        self._to = to
        self._clocks: Clocks | None = None

    def connect(self, ends: float) -> socket.socket:
        """Connect, and show that this is a node of the cluster.  Raises: OSError, NodeRefused; TlsError."""
        ends = min(ends, time.monotonic() + CONNECT_SECONDS)
        where = Endpoint(*self._wires.book.address_of(self._to))
        sock = socket.create_connection((where.host, where.port), timeout=left(ends))
        try:
            _set_options(sock)
            if self._wires.tls is not None:
                sock.settimeout(left(ends))
                sock = self._wires.tls().wrap_socket(sock, server_hostname=where.host)
            self._greet(sock, where, ends)
            self._wires.links.made(self._to, Address(*where), sock)
        except BaseException:
            sock.close()
            raise
        return sock

    def is_over(self, sock: socket.socket, request: Any) -> bool:
        """Whether the node has closed it, or has told its clock too long ago for this request."""
        age_ms = 0 if self._clocks is None else self._wires.now_ms() - self._clocks.own_ms
        if _names_moment(request) and age_ms > CLOCK_MS_MAX:
            return True
        if self._wires.tls is None:
            return has_ended(sock)
        import ssl

        try:
            return has_ended(sock)
        except ssl.SSLWantReadError:
            return False

    def told(self, request: Any) -> Any:
        """Return the request with moments of the other machine's clock in place of this one's."""
        if not _names_moment(request):
            return request
        assert self._clocks is not None, "there is a connection"
        other = copy.copy(request)
        other.until_ms = self._clocks.theirs(request.until_ms)
        return other

    # --- the greeting ----------------------------------------------------------------------------------

    def _greet(self, sock: socket.socket, where: Endpoint, ends: float) -> None:
        wires = self._wires
        hello = Hello(wires.number, self._to, wires.count, wires.cluster_id, os.urandom(NONCE_BYTES))
        nonce = bytes(self._ask(sock, _request(hello), where, ends).nonce)
        proof = proof_of_asking(wires.secret, hello, nonce)
        answer = self._ask(sock, _request(hello, proof), where, ends)
        own_ms = wires.now_ms()
        reply = Reply(answer.error_code, answer.cluster_id, answer.clock_ms)
        if reply.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED or not is_proof(
            bytes(answer.proof), proof_of_asked(wires.secret, hello, nonce, reply)
        ):
            raise NodeRefused(
                f"node {self._to} at {where.text} has another secret than this one"
                " (kawal.cluster.secret.file); give both the same file"
            )
        if reply.code:
            raise NodeRefused(self._refusal(reply, where))
        wires.cluster_id = reply.cluster_id
        self._clocks = Clocks(reply.clock_ms, own_ms)

    def _ask(
        self, sock: socket.socket, request: KawalGreetRequest, where: Endpoint, ends: float
    ) -> KawalGreetResponse:
        client_id = f"kawal-node-{self._wires.number}"
        try:
            answer: KawalGreetResponse = exchange(sock, request, 0, 1, client_id=client_id, ends=ends)
        except LinkBroken as error:
            raise LinkBroken(f"{where.text} takes no greetings of nodes: {error}") from error
        return answer

    def _refusal(self, reply: Reply, where: Endpoint) -> str:
        wires = self._wires
        match reply.code:
            case ErrorCode.INCONSISTENT_CLUSTER_ID:
                return (
                    f"node {self._to} at {where.text} is of cluster {reply.cluster_id}, and the directory of"
                    f" this node {wires.number} of cluster {wires.cluster_id}; give this node another"
                    " directory, or correct kawal.cluster.nodes"
                )
            case ErrorCode.INVALID_CONFIG:
                return (
                    f"node {self._to} at {where.text} knows of another number of nodes than {wires.count};"
                    " give all nodes the same kawal.cluster.nodes"
                )
            case ErrorCode.BROKER_ID_NOT_REGISTERED:
                return (
                    f"the node at {where.text} is not node {self._to}, or has the number {wires.number} of"
                    " this one; correct kawal.cluster.nodes or kawal.cluster.node"
                )
        return f"node {self._to} at {where.text} refuses this node with error {reply.code}"


def _request(hello: Hello, proof: bytes = b"") -> KawalGreetRequest:
    return KawalGreetRequest(
        number=hello.number,
        to=hello.to,
        count=hello.nodes,
        cluster_id=hello.cluster_id,
        nonce=hello.nonce,
        proof=proof,
    )


def _names_moment(request: Any) -> bool:
    """Whether a request is void from a moment on that it names."""
    return declaration(type(request)).api == ApiKey.KAWAL_SHARE_STATES


def _set_options(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNCONFIRMED_MS)
