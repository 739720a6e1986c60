"""The key of the workers: the processes that share one data directory."""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key

WORKERS_MAX: Final = 64

WORKER_KEYS: Final = (
    Key(
        "kawal.workers",
        ConfigType.INT,
        1,
        "Processes that share the work, each a node of the cluster; their ids and ports follow those of the "
        "first.  A write-ahead log is led by one of them: more workers than logs have nothing to do.",
        minimum=1,
        maximum=WORKERS_MAX,
        unit="processes",
    ),
)
