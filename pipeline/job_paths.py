"""The paths of a job file: relative ones count from its folder, and none may be in another's way."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from pipeline.bucket_config import in_bucket, place_in_bucket
from pipeline.config import Job
from pipeline.errors import JobFileError
from pipeline.security import SecuritySection

NAME_BYTES_MAX = 255
"""Linux's NAME_MAX."""

PATH_BYTES_MAX = 4095 - 300
"""Linux's PATH_MAX, less what a run puts below a folder of the job."""

SQLITE = "sqlite:///"
"""The beginning of the address of a file of SQLite; a relative path follows, or an absolute one."""


def at_home(job: Job, folder: Path) -> Job:
    """Return `job` with absolute paths: relative ones count from `folder`, empty ones get their default.

    Raises: JobFileError for paths that cannot be, and for folders of which one is in another.
    """
    if job.in_bucket:
        address = place_in_bucket(job.sink.path)
        table, path = folder / address.name, address.url
    else:
        table = _local_path(job.sink.path, folder, "sink.path")
        path = str(table)
    own = _local_path(job.sink.work or str(table.parent / f".{table.name}.landing"), folder, "sink.work")
    bad = _local_path(job.errors.path or f"{table}_bad", folder, "errors.path")
    checkpoint = _local_path(job.job.checkpoint or str(own / "checkpoint"), folder, "job.checkpoint")
    metrics = job.job.metrics_file and str(_local_path(job.job.metrics_file, folder, "job.metrics_file"))
    whole = {"the job's own folder": own}
    if not job.in_bucket:
        whole = {"the table": table, **whole}
    _check_apart("errors.path", bad, "quarantine", whole)
    # The checkpoint's place, where none is given, is in the job's own folder.
    whole["the folder of batches being made"] = own / "staging"
    _check_apart("job.checkpoint", checkpoint, "checkpoint", whole, inside=own)
    _check_apart("job.checkpoint", checkpoint, "checkpoint", {"the quarantine": bad})
    if metrics:
        _check_metrics(Path(metrics), {**whole, "the quarantine": bad, "the checkpoint": checkpoint})
    return msgspec.structs.replace(
        job,
        sink=msgspec.structs.replace(
            job.sink,
            path=path,
            work=str(own) if job.in_bucket else "",
            catalog=_catalog_at_home(job.sink.catalog, folder),
        ),
        source=msgspec.structs.replace(
            job.source,
            security=_security_at_home(job.source.security, folder),
            backfill=_past_at_home(job.source.backfill, folder),
        ),
        target=msgspec.structs.replace(job.target, security=_security_at_home(job.target.security, folder)),
        errors=msgspec.structs.replace(job.errors, path=str(bad)),
        job=msgspec.structs.replace(job.job, checkpoint=str(checkpoint), metrics_file=metrics),
    )


def _security_at_home(security: SecuritySection, folder: Path) -> SecuritySection:
    paths = {name: getattr(security, name) for name in ("ca", "certificate", "key")}
    return msgspec.structs.replace(
        security, **{name: str(folder / Path(path).expanduser()) for name, path in paths.items() if path}
    )


def _past_at_home(backfill: str, folder: Path) -> str:
    if not backfill or in_bucket(backfill):
        return backfill.rstrip("/")
    return str(_local_path(backfill, folder, "source.backfill"))


def _catalog_at_home(catalog: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the properties of a catalog, with the path of a file of SQLite from the job file's folder."""
    uri = catalog.get("uri", "")
    if not uri.startswith(SQLITE):
        return catalog
    path, mark, query = uri.removeprefix(SQLITE).partition("?")
    return {**catalog, "uri": f"{SQLITE}{_local_path(path, folder, 'sink.catalog')}{mark}{query}"}


def _check_apart(
    key: str, given: Path, what: str, others: dict[str, Path], *, inside: Path | None = None
) -> None:
    """Refuse a folder that is one of the others, in one of them or around one; `inside` one it may be.

    Raises: JobFileError.
    """
    for name, other in others.items():
        if given == other or (other in given.parents and other != inside):
            relation = f"in {name} {other}"
        elif given in other.parents:
            relation = f"around {name} {other}"
        else:
            continue
        raise JobFileError(f"{key} is {given}, {relation}; give the {what} a folder of its own")


def _check_metrics(given: Path, others: dict[str, Path]) -> None:
    for name, other in others.items():
        if other in (given, *given.parents) and name != "the job's own folder":
            raise JobFileError(
                f"job.metrics_file is {given}, in {name} {other}; put the metrics somewhere else"
            )


def _local_path(text: str, folder: Path, key: str) -> Path:
    """Resolve a path on a file system with an atomic rename, by which a batch appears.  Raises:
    JobFileError."""
    scheme, colon, rest = text.partition(":")
    if not colon or len(scheme) == 1 or "/" in scheme:
        scheme, rest = "file", text
    if scheme != "file":
        raise JobFileError(
            f"{key} is {text!r}: it can only be a folder of a local disk or of a mount that all executors "
            "share (a table may be in a bucket, too: sink.path = 's3://BUCKET/PREFIX'); give a path without "
            "a scheme"
        )
    local = Path(re.sub(r"^//(localhost)?(?=/)", "", rest)).expanduser()
    longest = max((len(os.fsencode(part)) for part in local.parts), default=0)
    if longest > NAME_BYTES_MAX:
        raise JobFileError(
            f"{key} has the name of a folder or file of {longest:,} bytes; file systems take "
            f"{NAME_BYTES_MAX}: give a shorter one"
        )
    whole = len(os.fsencode(folder / local))
    if whole > PATH_BYTES_MAX:
        raise JobFileError(f"{key} is a path of {whole:,} bytes; give one of {PATH_BYTES_MAX:,} at most")
    try:
        return (folder / local).resolve()
    except (OSError, RuntimeError) as error:  # a loop of links, as OSError or RuntimeError
        raise JobFileError(
            f"{key} is {text!r}, which cannot be followed: {getattr(error, 'strerror', None) or error}; "
            "give a path without such links"
        ) from error
