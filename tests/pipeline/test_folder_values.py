"""The values that folders name, and the names that values get."""

from __future__ import annotations

import struct
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.folder_values import folder_name, folder_values


def test_values_are_unescaped_and_the_default_folder_has_none() -> None:
    path = "batch=0000000001/origin=A%20B/date=__HIVE_DEFAULT_PARTITION__/a=b.parquet"
    assert folder_values(path) == {"batch": "0000000001", "origin": "A B", "date": None}


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@example(text="a\0b")
def test_every_text_is_found_again_in_its_folder(text: str) -> None:
    name = folder_name("side", text)
    assert not {"/", "\0"} & set(name), "a record could end every run"
    assert folder_values(f"{name}/a.parquet") == {"side": text or None}


@given(value=st.floats(allow_nan=False, width=32))
def test_numbers_of_32_bits_have_the_digits_they_need(value: float) -> None:
    short = folder_name("a", value, "float").removeprefix("a=")
    assert sum(digit.isdigit() for digit in short.partition("e")[0].strip("0.")) <= 9 or abs(value) > 1e7
    assert struct.pack("f", float(short)) == struct.pack("f", value)


def test_the_names_are_those_that_spark_gives(spark: Any, tmp_path: Path) -> None:
    values = "a boolean, b int, c double, d float, e string, f date, g timestamp, h decimal(6,2)"
    text = "a \x01\"#%'*/:=?\\\x7f{[]^}é"
    times_us = [1_357_034_400_500_000, -62_135_596_800_000_000, 253_402_300_800_000_000]
    rows = [
        (True, -7, 0.25, 0.1, text, date(2013, 1, 1), times_us[0], Decimal("1.50")),
        (False, 0, -1.5, 3.0, "", date(1, 1, 1), times_us[1], Decimal("0.00")),
        (None, None, 1234567.0, 16777216.0, "A", None, times_us[2], Decimal("-12.00")),
    ]
    frame = spark.createDataFrame(rows, values.replace("g timestamp", "g bigint"))
    frame = frame.selectExpr(*"abcdef", "timestamp_micros(g) as g", "h", "1 as one").coalesce(1)
    frame.write.partitionBy(*"abcdefgh").parquet(str(tmp_path / "t"))
    made = {str(path.parent.relative_to(tmp_path / "t")) for path in (tmp_path / "t").rglob("*.parquet")}
    kinds = {"d": "float", "g": "timestamp"}
    ours = {
        "/".join(
            folder_name(name, value, kinds.get(name, "")) for name, value in zip("abcdefgh", row, strict=True)
        )
        for row in rows
    }
    # Java writes whole numbers from ten millions on with an exponent.
    assert {name.replace("1.6777216E7", "16777216.0") for name in made} == ours
