"""The second attempt of failed compat tests: what it forgives, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests import second_attempt
from compat_tests.second_attempt import ONE_ATTEMPT

pytest_plugins = ["pytester"]

CONFTEST = """
from compat_tests.second_attempt import SecondAttemptPlugin

def pytest_addoption(parser):
    parser.addoption("--second-attempt", action="store_true")

def pytest_configure(config):
    if config.getoption("--second-attempt"):
        config.pluginmanager.register(SecondAttemptPlugin(), "second-attempt")
"""

FAILS_FIRST = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("at", range({count}))
def test_that_fails_first(at):
    seen = Path(f"seen-{{at}}")
    if not seen.exists():
        seen.touch()
        raise AssertionError("a busy machine")

def test_that_passes():
    with Path("passes").open("a") as ran:
        ran.write("once ")
"""

WORKERS: tuple[list[str], ...] = ([], ["--numprocesses=2"])


def run(pytester: pytest.Pytester, text: str, *options: str, file: str = "test_one") -> pytest.RunResult:
    """Run tests of this text, with a second attempt."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(**{file: text})
    return pytester.runpytest_subprocess("--second-attempt", *options)


@pytest.mark.parametrize("options", WORKERS)
def test_a_test_that_fails_only_beside_others_is_named_and_does_not_fail_the_run(
    pytester: pytest.Pytester, options: list[str]
) -> None:
    result = run(pytester, FAILS_FIRST.format(count=3), *options)
    assert result.ret == 0
    named = ["*AssertionError: a busy machine*", "passed: test_one.py::test_that_fails_first?0? *"]
    result.stdout.fnmatch_lines([*named, "*3 failed, 1 passed*"])
    assert (pytester.path / "passes").read_text() == "once "


def test_a_test_that_fails_again_fails_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_wrong():\n    assert 0, 'a fault of ours'")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED: test_one.py::test_wrong"])


def test_a_fixture_that_fails_first_has_a_second_attempt_too(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from pathlib import Path
        import pytest

        @pytest.fixture
        def server():
            if not Path("seen").exists():
                Path("seen").touch()
                raise OSError("not started")

        def test_with_it(server):
            pass
        """,
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["passed: test_one.py::test_with_it", "*1 error*"])


@pytest.mark.parametrize(
    ("count", "file", "why"),
    [(4, "test_one", "more than 3 tests failed"), (1, "test_restart", "test_restart failed")],
)
def test_what_has_one_attempt_only_fails_the_run(
    pytester: pytest.Pytester, count: int, file: str, why: str
) -> None:
    result = run(pytester, FAILS_FIRST.format(count=count), file=file)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"none: {why}"])


def test_every_file_of_one_attempt_exists() -> None:
    compat_tests = Path(second_attempt.__file__).parent
    assert {path.stem for path in compat_tests.glob("test_*.py")} >= ONE_ATTEMPT


def test_a_run_without_failures_says_nothing_of_it(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_right():\n    pass")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*second attempt*")
