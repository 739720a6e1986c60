"""The time of the records of the tests."""

from __future__ import annotations

import time

START_MS = int(time.time()) * 1_000 - 3_600_000
"""An hour ago: records older than a week would be deleted when a broker checks their retention."""
