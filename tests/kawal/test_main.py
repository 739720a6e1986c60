"""Kawal's own packages come first on the import path, whatever else is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kawal.__main__ import packages_folder

ROOT = Path(__file__).parents[2]


def test_the_packages_of_an_installation_are_inside_it(tmp_path: Path) -> None:
    (tmp_path / "_packages").mkdir()
    assert packages_folder(tmp_path) == str(tmp_path / "_packages")


def test_those_of_a_checkout_are_beside_it() -> None:
    assert packages_folder() == str(ROOT)


def test_packages_of_another_project_that_come_first_are_not_imported(tmp_path: Path) -> None:
    for name in ("broker", "console", "views", "protocol"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('the other {name}')\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; sys.argv = ['kawal', 'version']\n"
        "from kawal.__main__ import main; code = main()\n"
        "import broker, views; sys.exit(code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("kawal ")


def kawal(shell: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $KAWAL is the command."""
    line = f"KAWAL='{sys.executable} -m kawal'; {shell}"
    return subprocess.run(
        ["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_closed_streams_are_no_reason_to_fail_or_to_write_elsewhere() -> None:
    ended = kawal("$KAWAL version <&- >&- && $KAWAL nonsense 2>&- >&-; echo $?")
    assert (ended.stdout, ended.stderr) == ("2\n", "")


def test_a_full_output_is_told_in_one_sentence() -> None:
    ended = kawal("$KAWAL config explain > /dev/full; echo $?")
    assert ended.stdout == "1\n"
    assert ended.stderr == "kawal: the output cannot be written: No space left on device\n"


def test_what_the_terminal_cannot_show_is_escaped() -> None:
    ended = kawal("PYTHONIOENCODING=ascii $KAWAL 'tö'; echo $?")
    assert ended.stdout == "2\n"
    assert ended.stderr.startswith("kawal: 't\\xf6' is not a command")
