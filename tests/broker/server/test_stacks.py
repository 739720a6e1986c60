"""Stacks are short: one line each, paths from the project's root, and no more frames than can be read."""

from __future__ import annotations

import sys
import threading

from broker.server.stacks import FRAMES_MAX, all_stacks, stack_of, stack_text


def test_a_stack_ends_with_the_innermost_call_and_names_files_from_the_root() -> None:
    line = sys._getframe().f_lineno + 1
    text = stack_text(sys._getframe())
    assert text.endswith(
        f"tests/broker/server/test_stacks.py:{line} "
        "test_a_stack_ends_with_the_innermost_call_and_names_files_from_the_root"
    )
    assert " > " in text
    assert " tests/broker" in text
    assert "\n" not in text


def test_of_a_deep_recursion_the_innermost_frames_are_shown() -> None:
    def deep(depth: int) -> str:
        return deep(depth - 1) if depth else stack_text(sys._getframe())

    text = deep(100)
    assert text.startswith("… > ")
    assert text.count(" deep") == FRAMES_MAX


def test_the_stack_of_another_thread_can_be_taken() -> None:
    started, done = threading.Event(), threading.Event()

    def wait_here() -> None:
        started.set()
        done.wait()

    thread = threading.Thread(target=wait_here, name="waiting-thread")
    thread.start()
    started.wait()
    assert thread.ident is not None
    assert "wait_here" in stack_of(thread.ident)
    assert " > threading.py:" in stack_of(thread.ident)
    assert "wait_here" in dict(all_stacks())["waiting-thread"]
    done.set()
    thread.join()
    assert stack_of(thread.ident) == ""
