"""ApiVersions: the list of served APIs, in all versions and for versions that do not exist."""

from __future__ import annotations

import struct

import pytest

from broker.handlers import APIS, OF_NODES
from protocol.api_keys import PRIVATE_FROM, ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.wire import decode
from tests.broker.gateway import Client, Gateway, take_outgoing

OF_KAFKA = {key for key in APIS if key < PRIVATE_FROM} - OF_NODES


def request(name: str = "librdkafka", version: str = "2.3.0-RC1.x") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(5))
def test_every_api_is_listed_once_with_its_range(client: Client, version: int) -> None:
    answer = client.call(request(), version)
    assert answer.error_code == 0
    listed = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert len(listed) == len(answer.api_keys) == len(OF_KAFKA)
    assert listed[ApiKey.PRODUCE] == (0, 13)
    assert listed[ApiKey.FETCH] == (4, 18)
    assert listed[ApiKey.API_VERSIONS] == (0, 4)
    assert all(low <= high for low, high in listed.values())


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_api_that_is_listed_has_its_handler_and_its_messages(api: object) -> None:
    from broker.handlers import Api
    from protocol.schema import declaration

    assert isinstance(api, Api)
    assert callable(api.handler())
    known = declaration(api.request_type()).versions
    assert api.minimum in known
    assert api.maximum in known
    assert api.advertised_minimum <= api.minimum <= api.maximum


@pytest.mark.parametrize("version", [5, 100, 32767, -1])
def test_a_version_that_is_not_served_is_answered_in_the_oldest_layout(version: int) -> None:
    client = Gateway().client()
    header = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 77, -1) + b"\0" * (version >= 3)
    client.send_bytes(struct.pack(">i", len(header)) + header)
    frame = take_outgoing(client.connection)
    assert struct.unpack_from(">ii", frame) == (len(frame) - 4, 77)
    answer, end = decode(ApiVersionsResponse, 0, memoryview(frame), 8)
    assert end == len(frame)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {row.api_key for row in answer.api_keys} == set(OF_KAFKA)
    assert client.connection.close_reason is None
    assert client.call(request(), 4).error_code == 0


@pytest.mark.parametrize(
    ("name", "version"), [("wire_x", "1"), ("", "1"), ("x", ""), ("-x", "1"), ("x", "1."), ("x y", "1")]
)
def test_software_with_an_odd_name_is_refused_since_version_3(
    client: Client, name: str, version: str
) -> None:
    answer = client.call(request(name, version), 3)
    assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])
    assert client.connection.client_software == ("", "")


@pytest.mark.parametrize(("name", "version"), [("a", "1"), ("Apache-Kafka.x", "4.3.1"), ("A9", "v1-x")])
def test_software_is_remembered(client: Client, name: str, version: str) -> None:
    assert client.call(request(name, version), 4).error_code == 0
    assert client.connection.client_software == (name, version)


def test_no_feature_begins_at_level_0_where_older_clients_cannot_read_it(client: Client) -> None:
    assert all(row.min_version > 0 for row in client.call(request(), 3).supported_features)
