"""The container image and the systemd unit, as far as they can be judged without an engine that runs them."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from broker.config.config_sources import load
from console.cli import COMMANDS

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments, each on one line."""
    lines = [line for line in DOCKERFILE.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def all_of(name: str) -> list[str]:
    return [rest for word, rest in instructions() if word == name]


def environment_of_image() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in all_of("ENV") for pair in shlex.split(line))


def test_every_image_it_is_built_from_is_pinned_and_slim() -> None:
    assert [line.split()[0] for line in all_of("FROM")] == ["python:${PYTHON}-slim"] * 2
    assert all(re.fullmatch(r"PYTHON=3\.\d+", argument) for argument in all_of("ARG"))


def test_it_runs_without_root_and_writes_to_data_only() -> None:
    (user,) = all_of("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert all_of("VOLUME") == ["/data"]
    order = [word for word, _ in instructions()]
    assert order.index("USER") > max(index for index, word in enumerate(order) if word in ("RUN", "COPY"))
    assert environment_of_image()["PYTHONDONTWRITEBYTECODE"] == "1"


def test_nothing_is_left_of_the_build() -> None:
    (build, _) = all_of("RUN")
    assert "--no-cache-dir" in build
    assert "compileall" in build
    assert all_of("ADD") == []
    assert not re.search(r"\b(sudo|apt-get|curl|wget)\b", DOCKERFILE)


def test_programs_are_given_as_lists_so_that_signals_reach_them() -> None:
    assert all_of("ENTRYPOINT") == ['["kawal"]']
    assert all_of("CMD") == ['["serve"]']
    assert all_of("STOPSIGNAL") == ["SIGTERM"]


def test_its_health_is_asked_in_kafkas_protocol() -> None:
    (check,) = all_of("HEALTHCHECK")
    assert check.endswith('CMD ["kawal", "health"]')
    assert "health" in COMMANDS


def test_its_environment_is_a_configuration() -> None:
    config = load(environment=environment_of_image()).config
    assert config.log_dirs == "/data"
    ports = {spec.endpoint.port for spec in config.specs} | {
        int(address.split(":")[1]) for address in (config.kawal_http_listen, config.kawal_console_listeners)
    }
    assert set(map(int, " ".join(all_of("EXPOSE")).split())) == ports


def test_the_build_sees_what_the_wheel_is_made_of_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
    seen = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert seen == packages | {"pyproject.toml", "README.md", "LICENSE"}


@pytest.fixture(scope="module")
def unit() -> dict[str, dict[str, list[str]]]:
    """Return the unit's sections: the values of each key, in order."""
    found: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in (ROOT / "packaging/kawal.service").read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line.strip() and not line.startswith("#"):
            key, _, value = line.partition("=")
            section.setdefault(key, []).append(value)
    return found


def test_the_unit_serves_with_a_configuration_of_its_own(unit: dict[str, dict[str, list[str]]]) -> None:
    service = unit["Service"]
    program, command = service["ExecStart"][0].split()
    assert program.endswith("/bin/kawal")
    assert command in COMMANDS
    environment = dict(pair.split("=", 1) for pair in service["Environment"])
    config = load(environment=environment).config
    assert config.log_dirs == f"/var/lib/{service['StateDirectory'][0]}"
    assert int(service["TimeoutStopSec"][0]) * 1_000 > config.kawal_shutdown_timeout_ms


def test_the_unit_gives_away_as_little_as_it_can(unit: dict[str, dict[str, list[str]]]) -> None:
    service = unit["Service"]
    wanted = {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "PrivateDevices": "yes",
        "CapabilityBoundingSet": "",
        "RestrictNamespaces": "yes",
        "MemoryDenyWriteExecute": "yes",
        "SystemCallArchitectures": "native",
    }
    assert {key: service[key][0] for key in wanted} == wanted
    assert "Restart" in service
    assert service["Type"] == ["notify"]
    assert int(service["LimitNOFILE"][0]) >= 100_000


def test_the_unit_restarts_a_server_whose_loop_stands_still(unit: dict[str, dict[str, list[str]]]) -> None:
    service = unit["Service"]
    assert int(service["WatchdogSec"][0]) >= 10
    assert service["Restart"] == ["on-failure"]  # which a watchdog that has run out is


def test_the_service_reads_its_configuration_again_on_reload(unit: dict[str, dict[str, list[str]]]) -> None:
    assert unit["Service"]["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
