"""Keys of tokens come from a file of bounded size; compat_tests/test_sasl_tokens.py tries addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.sasl_settings import OAuthSettings
from broker.security.sasl_oauthbearer import InvalidToken, TokenKeysUnusable
from broker.server.jwks_source import SIZE_BYTES_MAX, keys_reader, validator_maker
from tests.broker.gateway import Gateway
from tests.broker.tokens import claims, key_set, signed


def settings(url: str) -> OAuthSettings:
    return OAuthSettings(url, 60_000, 100, 1_000, None, (), 30_000, "sub")


def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "my keys.json"
    path.write_bytes(key_set("rsa"))
    read = keys_reader(path.as_uri())
    assert set(read()) == {"rsa"}
    path.write_bytes(key_set("ec"))
    assert set(read()) == {"ec"}


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b" " * (SIZE_BYTES_MAX + 1))
    with pytest.raises(ValueError, match="64 KiB"):
        keys_reader(path.as_uri())()


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_wrong_file_ends_the_start(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_bytes(content)
    make = validator_maker(Gateway().broker, lambda _work, _done: None)
    with pytest.raises(TokenKeysUnusable, match=r"keys\.json.*cannot be used"):
        make(settings(path.as_uri()))


def test_tokens_are_judged_by_the_keys_of_the_file_and_the_clock(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set("rsa"))
    gateway = Gateway()

    def run(work: object, done: object) -> None:
        assert callable(work)
        assert callable(done)
        work()
        done(None)

    judge = validator_maker(gateway.broker, run)(settings(path.as_uri()))
    assert judge.bearer_of(signed(claims(gateway.now_ms))).name == "alice"
    with pytest.raises(InvalidToken, match="expired"):
        judge.bearer_of(signed(claims(gateway.now_ms - 400_000)))
