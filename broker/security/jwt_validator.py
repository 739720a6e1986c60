"""JSON Web Tokens: signed by a key of the operator's set, in time, for us, by the issuer that we expect.

The key is found by the token's `kid` among keys that were read before; no token says where keys are.  Only
signatures with public keys count: `none` and HMAC are refused whatever a token says (RFC 8725).
Source: RFC 7519, RFC 7515; BrokerJwtValidator of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from broker.security.sasl_oauthbearer import Bearer, InvalidToken

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")

NAME_CHARACTERS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The claims that a token must have."""

    issuer: str | None
    audiences: tuple[str, ...]
    """One of these; empty: any."""
    skew_ms: int
    """The difference between clocks that is tolerated."""
    name_claim: str
    """The claim that is the bearer's name."""


class Keys(Protocol):
    """The keys of the issuer."""

    def find(self, kid: str) -> Any | None:
        """Return the key of that name; None if it is not known (yet)."""


def read_keys(text: bytes) -> dict[str, Any]:
    """Return the public keys of a JSON Web Key Set by their names; those without one are left out.

    Raises: ValueError, with one sentence.
    """
    import json

    try:
        tree = json.loads(text)
        # Keys of kinds that we do not use must not keep the others out.
        rows = [row for row in tree["keys"] if row.get("kty") in ("RSA", "EC") and row.get("kid")]
        found = {str(key.kid): key for key in KeySet.import_key_set({"keys": rows}).keys}
    except (ValueError, KeyError, TypeError, AttributeError, JoseError) as error:
        raise ValueError(f"it is not a JSON Web Key Set: {type(error).__name__}") from error
    if not found:
        raise ValueError("it has no RSA or EC key with a kid")
    return found


class JwtValidator:
    """The judge of one listener's tokens."""

    def __init__(self, rules: TokenRules, keys: Keys, wall_ms: Callable[[], int]) -> None:
        self._rules = rules
        self._keys = keys
        self._wall_ms = wall_ms

    def bearer_of(self, token: str) -> Bearer:
        """Return the bearer of a token.  Raises: InvalidToken."""
        try:
            signed = jws.extract_compact(token.encode())
            header = signed.headers()
        except (JoseError, ValueError, TypeError) as error:
            raise InvalidToken("a token that is no signed JSON Web Token") from error
        if header.get("alg") not in ALGORITHMS:
            raise InvalidToken(f"a token signed by {str(header.get('alg'))[:20]!r}, which is not accepted")
        key = self._keys.find(str(header.get("kid", "")))
        if key is None:
            raise InvalidToken("a token signed with a key that is not known")
        try:
            payload = jws.deserialize_compact(token, key, algorithms=list(ALGORITHMS)).payload
        except (JoseError, ValueError, TypeError) as error:
            raise InvalidToken(f"a token whose signature is wrong ({type(error).__name__})") from error
        return self._judged(_claims(payload))

    def _judged(self, claims: Mapping[str, Any]) -> Bearer:
        rules, now_ms = self._rules, self._wall_ms()
        expires_ms, issued_ms = _time_ms(claims, "exp"), _time_ms(claims, "iat")
        if now_ms >= expires_ms + rules.skew_ms:
            raise InvalidToken("a token that has expired")
        not_before_ms = _time_ms(claims, "nbf") if "nbf" in claims else issued_ms
        if now_ms < not_before_ms - rules.skew_ms or expires_ms < issued_ms:
            raise InvalidToken("a token that is not valid yet")
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise InvalidToken("a token of another issuer")
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if rules.audiences and not any(
            isinstance(named, str) and named in rules.audiences for named in audiences
        ):
            raise InvalidToken("a token for another audience")
        name = claims.get(rules.name_claim)
        if not isinstance(name, str) or not name.strip() or len(name) > NAME_CHARACTERS_MAX:
            raise InvalidToken(f"a token without a name in its claim {rules.name_claim!r}")
        return Bearer(name, expires_ms)


def _claims(payload: bytes) -> Mapping[str, Any]:
    import json

    try:
        claims = json.loads(payload)
    except ValueError as error:
        raise InvalidToken("a token whose claims are no JSON") from error
    if not isinstance(claims, dict):
        raise InvalidToken("a token whose claims are no JSON object")
    return claims


def _time_ms(claims: Mapping[str, Any], name: str) -> int:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 40:
        raise InvalidToken(f"a token without a time in its claim {name!r}")
    return int(value * 1000)
