"""Charts that the server draws."""

from __future__ import annotations

from console.web.charts import Bar, bars, points
from console.web.rendering import Templates
from console.web.static_files import StaticFiles


def test_a_sparkline_ends_where_values_are_missing() -> None:
    assert points([0, 2, None, 4], 30, 10) == ["0.0,10.0 10.0,5.0", "30.0,0.0"]


def test_no_values_are_no_line_and_zeros_lie_at_the_bottom() -> None:
    assert points([], 30, 10) == []
    assert points([0, 0], 30, 10) == ["0.0,10.0 30.0,10.0"]


def test_the_smallest_bar_can_be_seen_and_none_is_none() -> None:
    found = bars([0, 1, 1000], ["a", "b", "c"], 30, 10)
    assert found == [
        Bar(0.0, 10.0, 9.0, 0.0, "a", 0),
        Bar(10.0, 9.0, 9.0, 1.0, "b", 1),
        Bar(20.0, 0.0, 9.0, 10.0, "c", 1000),
    ]


def test_a_drawing_has_its_words_as_text() -> None:
    text = (
        '{% import "charts.html" as draw %}{{ draw.sparkline([1], x) }}{{ draw.bars([1200], ["08:00"], x) }}'
    )
    template = Templates(StaticFiles())._environment.from_string(text)
    html = template.render({"x": "records <over> time"})
    assert html.count("<title>records &lt;over&gt; time</title>") == 2
    assert "<title>08:00: 1,200</title>" in html
