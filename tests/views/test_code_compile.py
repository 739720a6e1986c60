"""Expressions are inserted in the places that a loop's text has for them."""

from __future__ import annotations

import ast

import pytest

from views.code_compile import compile_function

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
