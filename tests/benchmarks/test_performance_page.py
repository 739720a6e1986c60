"""The page of figures is what its file says, and nothing else; the committed one was made from its file."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import json_file, performance_page
from benchmarks.bars import BARS
from benchmarks.cases import CASES
from benchmarks.clients.jobs import Figures
from benchmarks.environment import REPOSITORY
from benchmarks.performance_page import page, pictures
from benchmarks.results import Results, Sample
from benchmarks.servers import ServerKind


def document(share: float = 0.0) -> dict[str, Any]:
    """Return the figures of two rounds of two cases, as a run writes them."""
    samples = [
        sample(
            "produce-1k-1p-all",
            "kafka",
            1,
            {"mb_per_s": 200.0, "cpu_s_per_gb": 3.0, "other_cpu_share": share},
        ),
        sample("produce-1k-1p-all", "kawal", 1, {"mb_per_s": 300.0, "cpu_s_per_gb": 1.5}),
        sample(
            "produce-1k-1p-all",
            "kafka",
            2,
            {"mb_per_s": 100.0, "cpu_s_per_gb": 5.0, "other_cpu_share": share},
        ),
        sample("produce-1k-1p-all", "kawal", 2, {"mb_per_s": 200.0, "cpu_s_per_gb": 2.5}),
        sample("small-records-8x5", "kafka", 1, {"requests_per_s": 10_000.0, "p99_ms": 5.0}),
        sample("small-records-8x5", "kawal", 1, {"requests_per_s": 5_000.0, "p99_ms": 9.0}),
    ]
    results = Results(samples=samples)
    names = {found.case for found in samples}
    return {
        "date": "2026-11-24T07:00:00Z",
        "commit": "0123456789abcdef",
        "changed_since_commit": False,
        "machine": {
            "processor": "Some", "cores": 2, "memory_bytes": 24e9, "kernel": "6", "system": "Linux",
            "disk": {"file_system": "ext4", "sync_4k_ms": 0.2},
        },
        "versions": {"kafka": "4.3.1", "librdkafka": "2.16", "python": "3.11"},
        "run": {"rounds": 2, "scale": {"client": "native"}},
        **json_file.findings(results, [case for case in CASES if case.name in names]),
    }  # fmt: skip


def sample(case: str, server: ServerKind, number: int, figures: Figures) -> Sample:
    return Sample(case=case, server=server, round=number, figures=figures)


def test_the_table_has_medians_ranges_and_the_ratio() -> None:
    text = page(document(), "run.json")
    assert "| MB/s | 150 (100-200) | 250 (200-300) | 1.75 |" in text
    assert "| requests/s | 10,000 | 5,000 | 0.50 |" in text
    assert "`012345678`" in text
    assert "not quiet" not in text


def test_a_bar_that_was_missed_is_shown_as_such() -> None:
    text = page(document(), "run.json")
    assert "| requests/s | ≥ 1 x Kafka | 0.5 | **missed** |" in text
    assert f"{len(re.findall('[|] met [|]', text))} of " in text
    assert len(BARS) > text.count("missed") > 0


def test_a_busy_machine_is_told() -> None:
    assert "**The machine was not quiet**: 40% of its cores" in page(document(0.4), "run.json")


def test_pictures_show_every_figure_to_scale() -> None:
    found = pictures(document())
    assert set(found) == set(performance_page.PLOTS)
    root = ElementTree.fromstring(found["performance-rates.svg"])
    widths = [
        float(bar.get("width", "0"))
        for bar in root.iter("{http://www.w3.org/2000/svg}rect")
        if bar.get("height") == "10"
    ][2:]
    assert widths[0] / widths[1] == pytest.approx(150 / 250, rel=0.01)


def test_a_wrong_call_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert performance_page.main([]) == 2
    assert "give the JSON file" in capsys.readouterr().err


def test_the_committed_page_is_made_from_the_file_that_it_names() -> None:
    text = performance_page.PAGE.read_text()
    named = re.search(r"benchmarks/results/([\w.-]+[.]json)", text)
    assert named is not None
    found = json.loads((REPOSITORY / "benchmarks" / "results" / named[1]).read_text())
    assert text == page(found, named[1])
    for name, picture in pictures(found).items():
        assert (performance_page.PICTURES / name).read_text() == picture
