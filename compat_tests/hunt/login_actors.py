"""Turns of a player about listeners with logins: half, wrong and repeated logins, and requests after them."""

from __future__ import annotations

from random import Random

from compat_tests.hunt.link import Sent
from compat_tests.hunt.player import Player
from compat_tests.hunt.wrong import spoiled
from compat_tests.logins import MECHANISMS, USERS, plain_token
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest


def logins(player: Player) -> None:
    """Log in, well or not, and send what others send, before it and after it."""
    chance = player.chance
    if not player.other_ports:
        return
    for _ in range(5):
        link = player.link(chance.choice(list(player.other_ports.values())))
        try:
            steps = [_handshake(player), *(_token(player) for _ in range(chance.choice((0, 1, 1, 3))))]
            steps += [player.make(*player.any_api()) for _ in range(chance.choice((1, 5)))]
            if chance.random() < 0.3:
                chance.shuffle(steps)
            # The server may close the connection at any of them.
            link.throw(b"".join(sent.frame for sent in steps), read_seconds=0.2)
            if chance.random() < 0.3:
                link.throw(spoiled(steps[0].frame, chance), read_seconds=0.05)
        finally:
            link.reset() if chance.random() < 0.3 else link.close()


def _handshake(player: Player) -> Sent:
    mechanism = player.chance.choice((*MECHANISMS, *MECHANISMS, "GSSAPI", "OAUTHBEARER", "", "x" * 30_000))
    return player.request(SaslHandshakeRequest(mechanism=mechanism), player.chance.choice((0, 1)))


def _token(player: Player) -> Sent:
    request = SaslAuthenticateRequest(auth_bytes=_token_bytes(player.chance))
    return player.request(request, player.chance.choice((0, 1, 2)))


def _token_bytes(chance: Random) -> bytes:
    user = chance.choice((*USERS, "nobody"))
    return chance.choice(
        (
            plain_token("alice", USERS["alice"]),
            plain_token("bob", USERS["bob"]),
            plain_token(user, "wrong"),
            plain_token("alice", USERS["alice"], "bob"),
            b"n,,n=%s,r=nonce" % user.encode(),
            b"n,,n=%s,r=nonce,tokenauth=true" % user.encode(),
            b"c=biws,r=nonce,p=AAAA",
            b"n,a=other,n=x,r=" + b"r" * 60_000,
            b"",
            b"\0",
            b"\0" * 1_000,
            b"\xff\xfe\0\xff\0\xff",
            chance.randbytes(40),
        )
    )
