"""Jobs over SASL_SSL, on both sides: they land, copy and audit, and a user without rights is told so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.conftest import running_broker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.pipeline_copies import CopyJob, numbers_of
from compat_tests.pipeline_jobs import PipelineJob, produce_numbers
from compat_tests.pipeline_kills.ground import Ground
from compat_tests.topics import create_topic

pytestmark = pytest.mark.timeout(300, method="signal")

LOGIN = """
protocol = "SASL_SSL"
mechanism = "SCRAM-SHA-512"
username_env = "PIPE_USER"
password_env = "PIPE_PASSWORD"
ca = "{ca}"
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker with logins over TLS."""
    settings = login_settings(SECURE="SASL_SSL")
    settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.server)}
    with running_broker(broker_kind, tmp_path_factory.mktemp("guarded"), settings) as started:
        add_scram_users(started)
        yield started


def guarded(job: PipelineJob, broker: Broker, certificates: Certificates, *tables: str) -> None:
    """Let a job reach its brokers, all of which are `broker`, by a login over TLS."""
    text = job.file.read_text().replace(broker.bootstrap, broker.bootstrap_of("SECURE"))
    for table in tables:
        text += f"[{table}.security]{LOGIN.format(ca=certificates.authority)}"
    job.file.write_text(text)


def test_jobs_land_copy_and_audit_over_a_login_on_tls(
    broker: Broker, topic: str, certificates: Certificates, tmp_path: Path
) -> None:
    create_topic(broker, topic, 2)
    produce_numbers(broker, topic, range(100))
    land = PipelineJob(tmp_path, broker, topic)
    guarded(land, broker, certificates, "source")
    copy = CopyJob(tmp_path / "copy", broker, broker, topic, name_there=f"{topic}-copy")
    guarded(copy, broker, certificates, "source", "target")
    with patch.dict(os.environ, PIPE_USER="alice", PIPE_PASSWORD=USERS["alice"]):
        checked = land.pipe("check")
        assert checked.code == 0, checked.out
        land.run_here()
        Ground(broker, tmp_path, "parquet", topic, land).must_be_equal(rows=100)
        copy.run_here()
        copy.must_be_equal(100)
    assert numbers_of(broker, f"{topic}-copy") == list(range(100))
    for log in tmp_path.rglob("*.log"):
        assert USERS["alice"] not in log.read_text(), log
