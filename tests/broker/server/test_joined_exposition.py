"""The metrics of several workers are one valid exposition."""

from __future__ import annotations

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse

from broker.server.joined_exposition import joined, labelled

FIRST = """\
# HELP a_total As.
# TYPE a_total counter
a_total{api="x"} 1.0
# HELP b Bs.
# TYPE b gauge
b 2.0
"""
SECOND = """\
# HELP a_total As.
# TYPE a_total counter
a_total{api="y"} 3.0
# HELP c Cs.
# TYPE c gauge
c 4.0
"""


def test_each_sample_has_its_worker_and_the_family_of_both_is_one() -> None:
    lines = joined({0: FIRST, 2: SECOND}, 3).splitlines()
    assert lines[:4] == [
        "# HELP a_total As.",
        "# TYPE a_total counter",
        'a_total{worker="0",api="x"} 1.0',
        'a_total{worker="2",api="y"} 3.0',
    ]
    assert 'b{worker="0"} 2.0' in lines
    assert 'c{worker="2"} 4.0' in lines
    assert len([line for line in lines if line.startswith("# TYPE a_total")]) == 1


def test_a_parser_reads_it_and_workers_left_out_are_counted() -> None:
    families = {family.name: family for family in parse(joined({0: FIRST, 2: SECOND}, 3))}
    assert [sample.labels["worker"] for sample in families["a"].samples] == ["0", "2"]
    assert families["kawal_workers"].samples[0].value == 3
    assert families["kawal_workers_without_metrics"].samples[0].value == 1


def test_open_metrics_end_once() -> None:
    text = "# HELP a As.\n# TYPE a counter\na_total 1.0\n# EOF\n"
    found = joined({0: text, 1: text}, 2)
    assert found.count("# EOF") == 1
    (family, *_) = parse_open(found)  # type: ignore[no-untyped-call]
    assert [sample.labels for sample in family.samples] == [{"worker": "0"}, {"worker": "1"}]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("a 1", 'a{worker="5"} 1'),
        ("a{} 1", 'a{worker="5"} 1'),
        ('a{b="c d{"} 1', 'a{worker="5",b="c d{"} 1'),
        ('a 1 # {x="y"} 2', 'a{worker="5"} 1 # {x="y"} 2'),
    ],
)
def test_the_label_comes_before_the_samples_own(sample: str, expected: str) -> None:
    assert labelled(sample, 5) == expected
