"""The metrics of several workers as one exposition: each sample with the label `worker`.

Both formats, Prometheus's text and OpenMetrics, want all samples of a family together, after its lines of
help and type; the families of the first worker come first, then those that only others have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

COUNTS: Final = """\
# HELP kawal_workers Processes of this server.
# TYPE kawal_workers gauge
kawal_workers {count}
# HELP kawal_workers_without_metrics Workers whose metrics are missing here: they did not answer in time.
# TYPE kawal_workers_without_metrics gauge
kawal_workers_without_metrics {missing}
"""

END: Final = "# EOF"
"""The last line of OpenMetrics."""


def joined(texts: Mapping[int, str], count: int) -> str:
    """Return one exposition of those of some of `count` workers, by their numbers."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    ends = False
    for number, text in texts.items():
        ends |= text.rstrip().endswith(END)
        for family, is_sample, line in _lines(text):
            if is_sample:
                samples.setdefault(family, []).append(labelled(line, number))
            elif family not in heads or line.split(" ", 3)[1] not in _kinds(heads[family]):
                heads.setdefault(family, []).append(line)
    lines = [line for family in heads for line in (*heads[family], *samples.get(family, ()))]
    body = "".join(f"{line}\n" for line in lines)
    return body + COUNTS.format(count=count, missing=count - len(texts)) + (f"{END}\n" if ends else "")


def _kinds(head: list[str]) -> set[str]:
    return {line.split(" ", 3)[1] for line in head}


def _lines(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the family of each line, whether it is a sample, and the line."""
    family = ""
    for line in text.splitlines():
        if line.startswith("# ") and line != END:
            family = line.split(" ", 3)[2]
            yield family, False, line
        elif line and not line.startswith("#"):
            yield family, True, line


def labelled(sample: str, number: int) -> str:
    """Return a sample's line with the label of its worker before its own labels."""
    name, brace, rest = sample.partition("{")
    if brace and " " not in name:
        return f'{name}{{worker="{number}",{rest}' if rest[:1] != "}" else f'{name}{{worker="{number}"{rest}'
    name, _, value = sample.partition(" ")
    return f'{name}{{worker="{number}"}} {value}'
