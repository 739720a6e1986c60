"""Rows for programs, exact to the digit."""

from __future__ import annotations

import csv
import io
import json

import pytest

from console.web.formats import as_csv, as_json, as_jsonl
from console.web.visit import Rows

ROWS = Rows(
    ("n", "text", "value", "more"),
    [(2**63 - 1, 'a"\n,b', b"\xff\x00", [1, None]), (-(2**70), None, "ü".encode(), True)],
)


def test_json_is_a_list_of_objects_with_all_digits() -> None:
    first, second = json.loads(as_json(ROWS))
    assert first == {"n": 2**63 - 1, "text": 'a"\n,b', "value": "base64:/wA=", "more": [1, None]}
    assert second == {"n": -(2**70), "text": None, "value": "ü", "more": True}
    assert as_json(Rows(("n",), [])) == "[]\n"


def test_json_lines_have_an_object_each() -> None:
    lines = as_jsonl(ROWS).splitlines()
    assert [json.loads(line)["n"] for line in lines] == [2**63 - 1, -(2**70)]


def test_csv_can_be_read_back() -> None:
    header, first, second = csv.reader(io.StringIO(as_csv(ROWS)))
    assert header == ["n", "text", "value", "more"]
    assert first == [str(2**63 - 1), 'a"\n,b', "base64:/wA=", "[1, null]"]
    assert second == [str(-(2**70)), "", "ü", "true"]


def test_what_has_no_place_in_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="object has no place"):
        as_json(Rows(("n",), [(object(),)]))
