"""The quarantine: bad records, kept beside the table, each with the reason why it does not fit.

A quarantine row: reason, key and value as they came (binary), headers, topic, partition, offset, timestamp.
Nothing of the record is lost, so it can be landed again once the job is fixed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pipeline.ledger import DIGITS, Ledger, sync_path, sync_tree


def claim(ledger: Ledger, quarantine: Path) -> None:
    """Claim the table, and remove the bad rows of batches that killed runs have not landed.

    They are bad rows of the batch that is made again under another number, too.  Raises: PipelineError.
    """
    for batch in ledger.claim():
        folder = quarantine_folder(quarantine, job=ledger.job, batch=batch)
        if folder.exists():
            shutil.rmtree(folder)


def quarantine_folder(quarantine: Path, *, job: str, batch: int) -> Path:
    """Return the folder of the bad rows of one batch."""
    return quarantine / f"job={job}" / f"batch={batch:0{DIGITS}d}"


def publish_quarantine(staged: Path, quarantine: Path, *, job: str, batch: int) -> None:
    """Put the bad rows of a batch into the quarantine table, in place of those of an earlier attempt.

    A batch without bad rows (no folder `staged`) only removes those. The job is a folder level, so that
    several jobs may share one quarantine.
    """
    target = quarantine_folder(quarantine, job=job, batch=batch)
    if target.exists():
        shutil.rmtree(target)
    if not staged.exists():
        return
    sync_tree(staged)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(staged, target)
    sync_path(target.parent)
