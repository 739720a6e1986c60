"""The keys of a job file that name a gateway's files, before anything is looked at."""

from __future__ import annotations

from pipeline.bucket_config import CopySection, in_bucket, place_of_copy
from pipeline.config import SourceSection
from pipeline.errors import JobFileError


def check_past(source: SourceSection) -> None:
    """Refuse keys that contradict each other.  Raises: JobFileError."""
    section, given = source.bucket, CopySection()
    if not source.backfill:
        if section != given:
            raise JobFileError("[source.bucket] is given, but source.backfill is empty; name what it is for")
        return
    url = source.backfill if in_bucket(source.backfill) else section.store
    key = "source.backfill" if in_bucket(source.backfill) else "source.bucket.store"
    if url and place_of_copy(url.rstrip("/")) is None:
        raise JobFileError(f"{key} is {url!r}: a gateway's copy is at s3://BUCKET or s3://BUCKET/PREFIX")
    if not url and section != given:
        raise JobFileError(
            f"[source.bucket] is given, but source.backfill is {source.backfill!r}, which is not s3://…, and "
            "source.bucket.store is empty"
        )
    if bool(section.access_key_env) != bool(section.secret_key_env):
        raise JobFileError(
            "source.bucket.access_key_env and source.bucket.secret_key_env belong together; give both or set "
            "both to ''"
        )
    if source.isolation != "read_committed":
        raise JobFileError(
            "source.isolation is 'read_uncommitted', but source.backfill reads what is committed; leave one "
            "of them out"
        )
