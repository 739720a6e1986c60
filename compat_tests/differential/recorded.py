"""Kafka's answers in files: one per sequence, a line about it and then a line of JSON per answer.

A file fits one sequence only. When the generator changes, `make differential ARGS=--record` asks Kafka again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

from compat_tests.differential.plain import Plain
from compat_tests.differential.sequences import Sequence

FOLDER = Path(__file__).parent / "answers"
SEED = 1
"""The seed of what is recorded."""

AGAIN = "the requests have changed since the answers were recorded: run make differential ARGS=--record"


def save(sequence: Sequence, answers: list[Plain]) -> None:
    """Write what Kafka answered to a sequence."""
    FOLDER.mkdir(exist_ok=True)
    head = {"kafka": "4.3.1", "seed": SEED, "requests": fingerprint(sequence)}
    lines = [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in (head, *answers)]
    text = "".join(f"{line}\n" for line in lines)
    # Time 0, so that the same answers make the same file.
    path(sequence.name).write_bytes(gzip.compress(text.encode(), mtime=0))


def load(sequence: Sequence) -> list[Plain]:
    """Read what Kafka answered to a sequence.

    Raises: AssertionError when the file is for other requests.
    """
    lines = gzip.decompress(path(sequence.name).read_bytes()).decode().splitlines()
    head, *answers = (json.loads(line) for line in lines)
    assert head["requests"] == fingerprint(sequence), f"{sequence.name}: {AGAIN}"
    return answers


def path(name: str) -> Path:
    """Return the file of the answers to a sequence."""
    return FOLDER / f"{name}.jsonl.gz"


def fingerprint(sequence: Sequence) -> str:
    """Return a digest of all requests of a sequence."""
    digest = hashlib.sha256()
    for step in sequence.steps:
        digest.update(f"{step.version} {step.request!r}\n".encode())
    return digest.hexdigest()[:16]
