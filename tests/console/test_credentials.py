"""The choice of the security that connections have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli import main
from console.credentials import choose, chosen
from console.errors import CommandError
from console.profiles import Profiles, save
from console.security import PLAIN


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return an environment with a profile in use, and choose nothing afterwards."""
    found = {"XDG_CONFIG_HOME": str(tmp_path)}
    settings = {"bootstrap": "h:1", "security.protocol": "SSL", "ssl.truststore.location": "/ca"}
    save(Profiles("a", {"a": settings, "b": {"bootstrap": "h:2"}}), found)
    yield found
    choose(None, None, {})


def test_a_profile_is_for_its_own_address_alone(environment: dict[str, str]) -> None:
    choose(None, "h:1", environment)
    assert (chosen().protocol, chosen().ca) == ("SSL", "/ca")
    choose(None, "other:1", environment)
    assert chosen() is PLAIN
    choose(None, "h:1", {**environment, "KAWAL_PROFILE": "b"})
    assert chosen() is PLAIN
    choose(None, None, environment)
    assert chosen() is PLAIN


def test_a_file_wins_over_the_profile(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("acks=all\nsecurity.protocol=SSL\nlinger.ms=5\n")
    choose(str(file), "h:1", environment)
    assert (chosen().protocol, chosen().ca) == ("SSL", None)
    assert capsys.readouterr().err == f"kawal: {file}: without effect here: acks, linger.ms\n"


def test_a_wrong_profile_is_told_with_its_file(environment: dict[str, str]) -> None:
    save(Profiles("a", {"a": {"bootstrap": "h:1", "security.protocol": "SASL_SSL"}}), environment)
    with pytest.raises(
        CommandError, match=r"profile 'a' in .*profiles\.json: security\.protocol is SASL_SSL"
    ):
        choose(None, "h:1", environment)


@pytest.mark.usefixtures("environment")
def test_commands_take_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--command-config", str(tmp_path / "gone")]) == 1
    assert "gone: No such file" in capsys.readouterr().err
