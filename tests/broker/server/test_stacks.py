"""Stacks are short: one line each, paths from the project's root, and no more frames than can be read."""

from __future__ import annotations

import ast
import sys
import threading
from pathlib import Path

import pytest

from broker.server import stacks
from broker.server.stacks import FRAMES_MAX, all_stacks, stack_of


def own_stack() -> str:
    return stack_of(threading.get_ident())


def test_a_stack_ends_with_the_innermost_call_and_names_files_from_the_root() -> None:
    line = sys._getframe().f_lineno + 1
    text = own_stack()
    assert (
        f" > tests/broker/server/test_stacks.py:{line} "
        "test_a_stack_ends_with_the_innermost_call_and_names_files_from_the_root > "
        "tests/broker/server/test_stacks.py:"
    ) in text
    assert " own_stack > broker/server/stacks.py:" in text
    assert "\n" not in text


def test_of_a_deep_recursion_the_innermost_frames_are_shown() -> None:
    def deep(depth: int) -> str:
        return deep(depth - 1) if depth else own_stack()

    text = deep(100)
    assert text.startswith("… > ")
    assert text.count(" > ") == FRAMES_MAX
    assert text.count(" deep") > FRAMES_MAX - 8


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


def test_without_a_descriptor_the_reason_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> str:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(stacks, "_dump", full)
    assert own_stack() == "no stack: [Errno 24] Too many open files"


def test_frames_of_other_threads_are_not_walked_in_python() -> None:
    """It has ended the server with a segmentation fault: the thread goes on while its frames are read."""
    names = {
        node.attr
        for node in ast.walk(ast.parse(Path(stacks.__file__).read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert not names & {"_current_frames", "f_back", "f_code"}
