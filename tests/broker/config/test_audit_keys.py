"""The keys of the audit log."""

from __future__ import annotations

import pytest

from broker.config.audit_keys import AUDIT_KEYS, file_problem
from broker.config.config import config_of
from broker.config.config_keys import ConfigError


def test_there_is_no_audit_log_unless_it_is_asked_for() -> None:
    assert not config_of({}).audited
    assert config_of({"kawal.audit.file": "/a"}).audited
    assert config_of({"kawal.audit.topic": "true"}).audited


def test_a_file_is_named_from_the_root() -> None:
    assert file_problem(None) is None
    assert file_problem("/var/log/audit.log") is None
    for wrong in ("audit.log", "/var/log/"):
        with pytest.raises(ConfigError, match="no path of a file from /"):
            config_of({"kawal.audit.file": wrong})


@pytest.mark.parametrize("key", AUDIT_KEYS, ids=lambda key: key.name)
def test_every_key_needs_a_restart(key: object) -> None:
    assert not getattr(key, "dynamic")  # noqa: B009
