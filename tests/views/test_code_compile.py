"""Expressions are inserted in the places that a loop's text has for them."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from views.code_compile import compile_function, undisturbed

TEXT = """
def f(x, y):
    for _ in 'a':
        if not PREDICATE:
            continue
        y = str(VALUE)
    return y
"""


def read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def test_expressions_stand_where_their_names_stood() -> None:
    function = compile_function(TEXT, {"PREDICATE": read("x"), "VALUE": read("y")}, {}, "f")
    assert (function(True, 7), function(False, 7)) == ("7", 7)


def test_a_text_is_compiled_again_with_other_expressions() -> None:
    first = compile_function(TEXT, {"PREDICATE": read("x"), "VALUE": read("y")}, {}, "f")
    second = compile_function(TEXT, {"PREDICATE": ast.Constant(1), "VALUE": read("k")}, {"k": 5}, "f")
    assert (first(False, 7), second(False, 7)) == (7, "5")


def test_what_cannot_be_compiled_leaves_the_text_as_it_was() -> None:
    with pytest.raises((ValueError, TypeError)):
        compile_function(TEXT, {"PREDICATE": read("x"), "VALUE": ast.Name("True", ast.Load())}, {}, "f")
    function = compile_function(TEXT, {"PREDICATE": read("x"), "VALUE": read("y")}, {}, "f")
    assert function(True, 7) == "7"


def test_a_thread_that_compiles_in_between_changes_nothing_for_another() -> None:
    """A view would show what another one asks for."""
    others: list[object] = []

    class Interrupted(dict[str, ast.expr]):
        """Expressions before the last of which another thread compiles the same text."""

        def __getitem__(self, name: str) -> ast.expr:
            if name == "VALUE":
                other = compile_function(TEXT, {"PREDICATE": read("y"), "VALUE": ast.Constant(2)}, {}, "f")
                others.append(other(False, 7))
            return super().__getitem__(name)

    function = compile_function(TEXT, Interrupted(PREDICATE=read("x"), VALUE=read("y")), {}, "f")
    assert (function(True, 7), function(False, 7)) == ("7", 7)
    assert others == ["2"]


def test_conversions_of_trees_are_tried_again_when_another_thread_has_disturbed_them() -> None:
    tries: list[int] = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=51, after=46)")
        return "made"

    assert undisturbed(work) == "made"


def test_many_threads_compile_what_each_of_them_asks_for() -> None:
    """Take turns of threads as they come: what one gets does not depend on them."""

    def made(number: int) -> bool:
        codes: dict[str, ast.expr] = {"PREDICATE": ast.Constant(1), "VALUE": ast.Constant(number)}
        return all(compile_function(TEXT, codes, {}, "f")(1, 1) == str(number) for _ in range(50))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(made, range(8)))
