"""Tables on a terminal."""

from console.tables import table


def test_columns_are_aligned_and_numbers_stand_to_the_right() -> None:
    assert table(("NAME", "N", "NOTE"), [("a", 5, None), ("long name", 12, "x")]) == (
        "NAME        N  NOTE\n"  #
        "a           5  -\n"
        "long name  12  x"
    )


def test_a_table_without_rows_is_its_heading() -> None:
    assert table(("A", "B"), []) == "A  B"
