"""Running kcat (Debian's, on librdkafka 2.0) to its end."""

from __future__ import annotations

import shutil
import subprocess

from compat_tests.broker import Broker


def kcat(
    broker: Broker, *arguments: str, stdin: bytes = b"", succeed: bool = True, timeout_seconds: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run `kcat -b BROKER ARGUMENTS`. With `succeed`, an exit code other than 0 fails the test."""
    program = shutil.which("kcat")
    assert program, "no kcat found: apt-get install kcat (make test does it where it may)"
    result = subprocess.run(
        [program, "-b", broker.bootstrap, *arguments],
        input=stdin,
        capture_output=True,
        timeout=timeout_seconds,
        check=False,
    )
    if succeed:
        assert result.returncode == 0, f"kcat {arguments}: exit {result.returncode}: {result.stderr!r}"
    return result
