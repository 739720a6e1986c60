"""The rules for new views, and their words."""

from __future__ import annotations

import pytest

from broker.catalogue.view_admin import check_partition_count, is_definition, named
from broker.errors import RequestError
from protocol.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("configs", "expected"),
    [({}, False), ({"kawal.sql": None}, False), ({"kawal.sql": " "}, True), ({"kawal.sql": "x"}, True)],
)
def test_a_topic_with_a_statement_is_a_view(configs: dict[str, str | None], expected: bool) -> None:
    assert is_definition(configs) is expected


def test_a_view_has_the_partitions_of_its_source() -> None:
    check_partition_count("v", -1, 4, "t")
    check_partition_count("v", 4, 4, "t")
    with pytest.raises(RequestError) as refused:
        check_partition_count("v", 1, 4, "t")
    assert refused.value.code == ErrorCode.INVALID_PARTITIONS
    assert refused.value.message == (
        "view 'v' has the 4 partition(s) of 't', but 1 were asked for; ask for 4, or for -1"
    )


def test_a_refusal_names_a_few_views_and_counts_the_rest() -> None:
    assert named(["a"]) == "the view 'a'"
    assert named(["a", "b"]) == "the views 'a', 'b'"
    assert named([str(number) for number in range(7)]) == "the views '0', '1', '2', '3', '4' and 2 more"
