"""The addresses of object stores that settings may name."""

from __future__ import annotations

import pytest

from broker.config.config import config_of
from broker.config.config_keys import ConfigError
from broker.config.remote_keys import endpoint_problem, url_problem


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "s3://my.bucket-1/a/b", "s3://bucket/a/"])
def test_a_bucket_with_or_without_a_prefix_is_accepted(url: str) -> None:
    assert url_problem(url) is None
    assert config_of({"kawal.remote.store": url}).kawal_remote_store == url


@pytest.mark.parametrize("url", ["bucket", "http://x/y", "s3://B/x", "s3://bucket/a//b", "s3://bucket/../x"])
def test_other_addresses_are_refused_with_the_form(url: str) -> None:
    with pytest.raises(ConfigError, match="s3://BUCKET/PREFIX"):
        config_of({"kawal.remote.store": url})


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:8333", "https://minio.local:9000/"])
def test_an_endpoint_is_a_host_and_a_port(endpoint: str) -> None:
    assert endpoint_problem(endpoint) is None


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:8333", "ftp://x", "http://user:word@host", "http://host/path"]
)
def test_an_endpoint_with_more_or_less_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        config_of({"kawal.remote.endpoint": endpoint})


def test_without_an_address_nothing_is_copied() -> None:
    assert config_of({}).kawal_remote_store is None
