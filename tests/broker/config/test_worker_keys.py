"""The number of workers."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.worker_keys import WORKERS_MAX


def test_a_server_is_one_process_unless_more_are_asked_for() -> None:
    assert Config().kawal_workers == 1
    assert config_of({"kawal.workers": "4"}).kawal_workers == 4


@pytest.mark.parametrize("count", ["0", "-1", str(WORKERS_MAX + 1), "many"])
def test_other_numbers_are_refused(count: str) -> None:
    with pytest.raises(ConfigError, match=r"kawal\.workers"):
        config_of({"kawal.workers": count})
