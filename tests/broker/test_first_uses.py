"""First requests of many kinds import and generate nothing on the event loop: threads do that beforehand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.broker.first_uses import Watch


def test_the_first_clients_of_each_kind_make_the_event_loop_import_and_generate_nothing() -> None:
    """Bug: encoders of answers and of stored records were written on the loop, each in milliseconds."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.broker.first_uses"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "6 kinds of clients\n"


def test_what_is_made_on_the_loop_is_noted_and_what_a_thread_makes_is_not() -> None:
    watch = Watch()
    watch.find_spec("package.before")
    with watch.working(on_loop=True):
        watch.find_spec("package.on_loop")
        with watch.working(on_loop=False):
            watch.find_spec("package.in_thread")
        watch.note("_make_encoder Answer")
    assert watch.made == ["during the start: package.on_loop", "during the start: _make_encoder Answer"]
