"""Tokens: only those that the issuer has signed for us, and that are in time, let their bearer in."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.jwt_validator import JwtValidator, TokenRules, read_keys
from broker.security.sasl_oauthbearer import Bearer, InvalidToken
from tests.broker.tokens import AUDIENCE, ISSUER, claims, key_set, signed, signed_with_public_key

NOW_MS = 1_700_000_000_000
RULES = TokenRules(ISSUER, ("other", AUDIENCE), 30_000, "sub")


class Keys:
    def __init__(self, *kids: str) -> None:
        self._keys = read_keys(key_set(*kids))

    def find(self, kid: str) -> Any | None:
        return self._keys.get(kid)


def bearer_of(token: str, rules: TokenRules = RULES) -> Bearer:
    return JwtValidator(rules, Keys("rsa", "ec"), lambda: NOW_MS).bearer_of(token)


def part(text: bytes) -> str:
    return urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(("kid", "algorithm"), [("rsa", "RS256"), ("rsa", "PS512"), ("ec", "ES256")])
def test_a_good_token_names_its_bearer(kid: str, algorithm: str) -> None:
    token = signed(claims(NOW_MS), kid, algorithm)
    assert bearer_of(token) == Bearer("alice", NOW_MS + 300_000)


def test_an_audience_may_be_one_of_several_and_the_name_another_claim() -> None:
    token = signed(claims(NOW_MS, aud=["x", AUDIENCE], email="a@b"))
    rules = TokenRules(ISSUER, (AUDIENCE,), 30_000, "email")
    assert bearer_of(token, rules).name == "a@b"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"exp": NOW_MS // 1000 - 30}, "expired"),
        ({"exp": None}, "'exp'"),
        ({"exp": "soon"}, "'exp'"),
        ({"exp": True}, "'exp'"),
        ({"exp": 1e300}, "'exp'"),
        ({"iat": None}, "'iat'"),
        ({"iat": NOW_MS // 1000 + 31}, "not valid yet"),
        ({"nbf": NOW_MS // 1000 + 31}, "not valid yet"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "someone"}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"aud": [1, {}]}, "another audience"),
        ({"sub": None}, "'sub'"),
        ({"sub": " "}, "'sub'"),
        ({"sub": 7}, "'sub'"),
        ({"sub": "x" * 300}, "'sub'"),
    ],
)
def test_claims_that_do_not_fit_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidToken, match=problem):
        bearer_of(signed(claims(NOW_MS, **changed)))


def test_clocks_may_differ_a_little() -> None:
    now_s = NOW_MS // 1000
    assert bearer_of(signed(claims(NOW_MS, exp=now_s - 29, iat=now_s - 60)))
    assert bearer_of(signed(claims(NOW_MS, nbf=now_s + 30)))


def test_a_token_without_a_signature_is_never_accepted() -> None:
    body = signed(claims(NOW_MS)).split(".")[1]
    for algorithm in (b"none", b"None", b""):
        head = part(b'{"alg":"' + algorithm + b'","kid":"rsa"}')
        with pytest.raises(InvalidToken):
            bearer_of(f"{head}.{body}.")


def test_a_token_signed_by_hmac_with_the_public_key_is_never_accepted() -> None:
    with pytest.raises(InvalidToken, match="'HS256'"):
        bearer_of(signed_with_public_key(claims(NOW_MS)))


def test_a_token_of_another_key_or_changed_after_it_was_signed_is_refused() -> None:
    with pytest.raises(InvalidToken, match="not known"):
        bearer_of(signed(claims(NOW_MS), "rsa-other"))
    head, _, signature = signed(claims(NOW_MS)).split(".")
    forged = signed(claims(NOW_MS, sub="root")).split(".")[1]
    with pytest.raises(InvalidToken, match="signature"):
        bearer_of(f"{head}.{forged}.{signature}")
    with pytest.raises(InvalidToken):
        bearer_of(signed(claims(NOW_MS), "rsa").replace(head, part(b'{"alg":"ES256","kid":"rsa"}')))


def test_a_key_inside_a_token_or_an_address_of_keys_is_not_used() -> None:
    token = signed(claims(NOW_MS), "rsa-other", jku="https://evil.example/keys")
    with pytest.raises(InvalidToken, match="not known"):
        bearer_of(token)


def test_no_refusal_has_a_part_of_the_token() -> None:
    token = signed(claims(NOW_MS, sub=None))
    with pytest.raises(InvalidToken) as refused:
        bearer_of(token)
    assert not any(piece in str(refused.value) for piece in token.split("."))


@given(st.text(max_size=80) | st.binary(max_size=60).map(lambda data: f"{part(data)}.{part(data)}.AA"))
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidToken):
        bearer_of(text)


@pytest.mark.parametrize("payload", [[], "text", 7])
def test_claims_that_are_no_object_are_refused(payload: object) -> None:
    with pytest.raises(InvalidToken, match="object"):
        bearer_of(signed(payload))


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"keys":{}}', b'{"keys":[]}', b'{"keys":[{"kty":"RSA","kid":"x"}]}']
)
def test_what_is_no_set_of_keys_is_told(text: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        read_keys(text)
