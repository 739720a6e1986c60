"""The time that records of the tests bear."""

from __future__ import annotations

import time

START_MS = int(time.time()) * 1_000 - 3_600_000
"""An hour ago: records older than a week would go when a broker looks for what has outlived its retention."""
