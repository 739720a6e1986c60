"""An issuer of tokens: its keys, and what it signs with them."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

ISSUER, AUDIENCE = "https://issuer.example", "kawal"


@cache
def key(kid: str = "rsa") -> Any:
    """Return the issuer's key of that name."""
    if kid.startswith("ec"):
        return ECKey.generate_key("P-256", parameters={"kid": kid})
    return RSAKey.generate_key(2048, parameters={"kid": kid})


def key_set(*kids: str) -> bytes:
    """Return the public keys as the issuer publishes them, beside one of a kind that is not used."""
    rows = [key(kid).as_dict(private=False) for kid in kids]
    return json.dumps({"keys": [*rows, {"kty": "OKP", "kid": "odd", "crv": "X448", "x": "AA"}]}).encode()


def claims(now_ms: int, **more: Any) -> dict[str, Any]:
    """Return the claims of a good token; None takes one away."""
    now_s = now_ms // 1000
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now_s, "exp": now_s + 300} | more
    return {name: value for name, value in made.items() if value is not None}


def signed(payload: object, kid: str = "rsa", algorithm: str = "RS256", **header: Any) -> str:
    """Return a token."""
    head = {"alg": algorithm, "kid": kid, **header}
    return jws.serialize_compact(head, json.dumps(payload), key(kid), algorithms=[algorithm])


def signed_with_public_key(payload: object, kid: str = "rsa") -> str:
    """Return a token whose HMAC was made with the issuer's public key, which is no secret."""
    parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "kid": kid}, payload))
    text = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    digest = hmac.digest(key(kid).as_pem(private=False), text, "sha256")
    return (text + b"." + urlsafe_b64encode(digest).rstrip(b"=")).decode()
