"""A second attempt for a few failed tests, alone, after all others: `pytest compat_tests --second-attempt`.

Three workers with a server, a JVM and clients each keep a small machine so busy that a process may stand
still for seconds, which decides a few of some thousand tests. A test that fails for another reason fails
again. What passed only then is named at the end of the output, below the failure of its first attempt.

No second attempt is made if more than `MOST` tests failed, or one of a file in `ONE_ATTEMPT`: those find
losses and repetitions, and to have found one is enough.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

OPTION: Final = "--second-attempt"
MOST: Final = 3
ONE_ATTEMPT: Final = frozenset(
    {
        "test_backup",
        "test_damaged_servers",
        "test_durability_remote",
        "test_groups_churn",
        "test_hunt",
        "test_nodes",
        "test_nodes_takeover",
        "test_partition_splits_killed",
        "test_pipeline_kills",
        "test_pipeline_rivals",
        "test_remote_copy",
        "test_restart",
        "test_restore_at",
        "test_standby",
        "test_tiered_topics",
        "test_transactions",
        "test_transactions_copies",
        "test_views_crash",
        "test_worker_pool",
        "test_workers_shares",
    }
)


class SecondAttemptPlugin:
    """The attempt, in the process that hands out the tests."""

    def __init__(self) -> None:
        self._failed: set[str] = set()
        self._said = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed, or whose fixtures did."""
        if report.failed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Try again, when the workers have ended; the run passes if all of these tests do."""
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        tests = sorted(self._failed)
        lost = ONE_ATTEMPT & {Path(test.partition("::")[0]).stem for test in tests}
        if lost or len(tests) > MOST:
            self._said = f"none: {', '.join(sorted(lost)) or f'more than {MOST} tests'} failed"
            return
        print(f"\n\nsecond attempt, alone: {' '.join(tests)}", flush=True)
        command = [sys.executable, "-m", "pytest", *tests]
        code = subprocess.run(command, cwd=session.config.rootpath, check=False).returncode
        self._said = f"{'passed' if code == 0 else 'FAILED'}: {' '.join(tests)}"
        if code == 0:
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how it ended."""
        if self._said:
            terminalreporter.write_sep("=", "second attempt")
            terminalreporter.write_line(self._said)
