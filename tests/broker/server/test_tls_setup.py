"""The TLS of a start: the operator's settings, and those of clients over them."""

from pathlib import Path

import pytest

from broker.config.config import Config, config_of
from broker.server.listeners import StartError
from broker.server.tls_setup import adopt_tls, open_tls
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Gateway
from tests.broker.server.pems import SERVER, SERVER_KEY, WIDER

BROKER = 4
LOCATION = "listener.name.ssl.ssl.keystore.location"


def config(folder: Path) -> Config:
    return config_of({
        "listeners": "SSL://127.0.0.1:0", "log.dirs": str(folder / "data"), LOCATION: str(folder / "a.pem")
    })  # fmt: skip


def write(path: Path, chain: str = SERVER) -> Path:
    path.write_text(SERVER_KEY + chain)
    return path


def gateway_of(read: Config) -> Gateway:
    return Gateway(listeners=read.listeners, listener_overrides=read.listener_overrides)


def set_by_a_client(gateway: Gateway, path: Path) -> int:
    line = AlterableConfig(name=LOCATION, config_operation=0, value=str(path))
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[line])
    answer = gateway.client().call(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1
    )
    return int(answer.responses[0].error_code)


def test_what_clients_have_set_is_served_after_a_start_without_the_operator_s_file(tmp_path: Path) -> None:
    write(tmp_path / "a.pem")
    read = config(tmp_path)
    gateway = gateway_of(read)
    tls, problem = open_tls(read)
    adopt_tls(tls, gateway.broker.live_config, problem)
    assert set_by_a_client(gateway, write(tmp_path / "b.pem", WIDER)) == 0
    gateway.restart()
    (tmp_path / "a.pem").unlink()
    (tmp_path / "data").mkdir()
    again, problem = open_tls(read)
    assert problem is not None
    adopt_tls(again, gateway.broker.live_config, problem)
    assert "DNS:kafka.example" in again.current["SSL"].alternative_names


def test_a_start_ends_if_what_clients_have_set_cannot_be_served(tmp_path: Path) -> None:
    write(tmp_path / "a.pem")
    read = config(tmp_path)
    gateway = gateway_of(read)
    tls, problem = open_tls(read)
    adopt_tls(tls, gateway.broker.live_config, problem)
    path = write(tmp_path / "b.pem")
    set_by_a_client(gateway, path)
    gateway.restart()
    path.write_text("broken")
    tls, problem = open_tls(read)
    with pytest.raises(
        StartError, match=r"no private key in .*b\.pem.*; clients have set this, as .* of broker 1"
    ):
        adopt_tls(tls, gateway.broker.live_config, problem)


def test_the_operator_s_own_file_must_be_right_where_clients_have_set_nothing(tmp_path: Path) -> None:
    read = config(tmp_path)
    with pytest.raises(StartError, match=r"a\.pem .*cannot be read"):
        open_tls(read)
    (tmp_path / "data").mkdir()
    tls, problem = open_tls(read)
    with pytest.raises(StartError, match=r"a\.pem .*cannot be read"):
        adopt_tls(tls, gateway_of(read).broker.live_config, problem)
