"""The reader of job files: TOML to the structs of `pipeline.config`, checked key by key and together.

An unknown key is refused with the name of the nearest known one.  Relative paths count from the folder of the
job file, so that a job means the same wherever it is started.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from pipeline.config import MASTER_PATTERN, Job
from pipeline.errors import JobFileError
from pipeline.job_checks import check_together
from pipeline.job_lines import line_of
from pipeline.job_paths import at_home
from pipeline.security import check_security
from pipeline.shape import shape_of
from pipeline.target_file import check_target

OVERRIDES = {
    "bootstrap": ("source", "bootstrap"),
    "master": ("spark", "master"),
    "trigger": ("trigger", "mode"),
}
"""The keys that a command line may set in place of the job file."""


MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

SHOWN_LETTERS = 500
"""The part of a wrong value that a sentence repeats."""

DURATION_MAX_MS = 100 * 365 * 24 * MILLISECONDS["h"]
TRANSACTION_MIN_MS = MILLISECONDS["s"]
"""The least that librdkafka takes for the timeout of a transaction."""

REQUIRED = ("job.name", "source.topics", "sink.path")
"""The keys without a default."""


FORMS = {
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$": "up to 100 letters, digits, '.', '_' and '-'",
    r"^[A-Za-z0-9_]*$": "letters, digits and '_'",
    r"^[A-Za-z][A-Za-z0-9_]*$": "a letter, then letters, digits and '_'",
    r"^(https?://[^/\s]+)?$": "http://HOST:PORT or https://HOST:PORT",
    MASTER_PATTERN: "local[CORES], spark://HOST:PORT, k8s://… or yarn",
    r"^\d+(ms|s|m|h)$": "a number and one of ms, s, m and h, as 10s",
    r"^(\d+(ms|s|m|h))?$": "a number and one of ms, s, m and h, as 10s",
    r"^\d+[mg]$": "a number and m or g, as 1g",
}
"""What the patterns of keys ask for, in words."""


def load(path: Path, **overrides: str) -> Job:
    """Read the job file at `path`; `bootstrap`, `master` and `trigger` (its mode) override its keys.

    Raises: JobFileError: one sentence that names the file, the key and the remedy.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark of its encoding
        content = tomllib.loads(text)
    except OSError as error:
        raise JobFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        wrong = error.object[error.start : error.start + 1]
        raise JobFileError(
            f"{path}:{line}: is not UTF-8: it has the byte 0x{wrong.hex()}; save the file as UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        place = f"{path}:{at[1]}" if at else path
        raise JobFileError(f"{place}: is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from error
    for name, value in overrides.items():
        section, key = OVERRIDES[name]
        table = content.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
    try:
        job = at_home(parse(content), path.resolve().parent)
        if job.job.metrics_file == str(path.resolve()):
            raise JobFileError(
                "job.metrics_file is the job file itself, which it would replace; name another"
            )
        shape_of(job)
        if job.source.view or job.source.view_columns:
            from pipeline.derivation import check_result, check_view  # takes 0.1 s to import

            check_view(job.source)
            if job.source.view and job.schema.mode == "json":
                check_result(job.source, job.schema.columns)
        job = msgspec.structs.replace(job, file=str(path))
    except JobFileError as error:
        line = line_of(text, str(error))
        raise JobFileError(f"{path}:{line}: {error}" if line else f"{path}: {error}") from error
    return job


def parse(content: dict[str, Any]) -> Job:
    """Check `content`, a parsed job file, and return it typed, with its paths unchanged.

    Raises: JobFileError.
    """
    _refuse_unknown_keys(content, Job, "")
    _refuse_nul(content, "")
    try:
        job = msgspec.convert(content, Job)
    except msgspec.ValidationError as error:
        raise JobFileError(_worded(str(error), content)) from error
    _check_durations(job)
    check_together(job)
    _check_start(job.source.start)
    check_security(job.source.security, "source.security")
    check_security(job.target.security, "target.security")
    if not job.writes_topics:
        return job
    check_target(job)
    return msgspec.structs.replace(job, schema=msgspec.structs.replace(job.schema, headers=True))


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration such as `10s`."""
    number, unit = re.findall(r"\d+|[a-z]+", text)
    return int(number) * MILLISECONDS[unit]


def _refuse_unknown_keys(content: dict[str, Any], into: type[Struct], prefix: str) -> None:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(into)}
    known.pop("file", None)  # where a job comes from; it cannot say so itself
    for key, value in content.items():
        if key not in known:
            raise JobFileError(_unknown_key(prefix + key, [prefix + name for name in known]))
        section = known[key]
        if isinstance(value, dict) and isinstance(section, type) and issubclass(section, Struct):
            _refuse_unknown_keys(value, section, f"{prefix}{key}.")


def _refuse_nul(value: Any, where: str) -> None:
    """Refuse the one character that no path, name, address or option may have.  Raises: JobFileError."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_nul(key, where)
            _refuse_nul(inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for inner in value:
            _refuse_nul(inner, where)
    elif isinstance(value, str) and "\0" in value:
        raise JobFileError(f"{where} is {value!r}: it has the character U+0000, which nothing here may have")


def _unknown_key(key: str, known: list[str]) -> str:
    """Name the nearest key of the same table, else the key of that name in another one."""
    by_name = {name.rpartition(".")[2]: name for name in known}
    last = key.rpartition(".")[2]
    close = [by_name[name] for name in difflib.get_close_matches(last, by_name, n=1)]
    close += [name for name in described_keys() if name.endswith(f".{last}")]
    hint = f"did you mean {close[0]!r}?" if close else f"the keys here are {', '.join(known)}"
    return f"{key!r} is not a key of a job file; {hint}"


def described_keys() -> dict[str, msgspec.inspect.Metadata]:
    """Return every key of a job file, as `table.key`, with its type and its description."""
    tables = {
        field.encode_name: field.type for field in msgspec.structs.fields(Job) if field.encode_name != "file"
    }
    keys: dict[str, msgspec.inspect.Metadata] = {}
    for table, section in tables.items():
        keys |= _described(table, section)
    return keys


def _described(table: str, section: type[Struct]) -> dict[str, msgspec.inspect.Metadata]:
    keys: dict[str, msgspec.inspect.Metadata] = {}
    for field in msgspec.structs.fields(section):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            keys |= _described(f"{table}.{field.encode_name}", field.type)
            continue
        described = msgspec.inspect.type_info(field.type)
        assert isinstance(described, msgspec.inspect.Metadata), f"{table}.{field.name} has no description"
        keys[f"{table}.{field.encode_name}"] = described
    return keys


def description_of(key: msgspec.inspect.Metadata) -> str:
    """Return the sentence that documents a key."""
    text = (key.extra_json_schema or {})["description"]
    assert isinstance(text, str)
    return text


def _worded(message: str, content: dict[str, Any]) -> str:
    """Put msgspec's "Expected `int`, got `str` - at `$.source.min_partitions`" into our order of words."""
    problem, _, place = message.partition(" - at ")
    where = place.strip("`").removeprefix("$").lstrip(".")
    missing = re.fullmatch(r"Object missing required field `(\w+)`", problem)
    if missing is not None:
        return _without(missing[1], where)
    where = _entry_of(where, content)
    if "matching regex" in problem or "Invalid enum" in problem:
        problem = ""  # the description says in words what is right
    for theirs, ours in (("`", "'"), ("'object'", "a table"), ("'array'", "a list")):
        problem = problem.replace(theirs, ours)
    if re.search(r"got 'date|got 'time", problem):
        problem += "; put it in quotes"
    known = described_keys().get(re.sub(r"\[.*", "", where))
    meaning = ""
    if known is not None:
        meaning = f" ({description_of(known).rstrip('.')})"
        if isinstance(known.type, msgspec.inspect.LiteralType):
            problem = "expected one of " + ", ".join(repr(value) for value in known.type.values if value)
        elif not problem:
            problem = f"expected {FORMS[getattr(known.type, 'pattern', '')]}"
    sentence = f"{problem[:1].lower()}{problem[1:]}{meaning}"
    return f"{where}{_given(where, content)}: {sentence}" if where else sentence


def _without(key: str, table: str) -> str:
    """Return the sentence about a key that is missing, or a table."""
    known = described_keys()
    if table:
        return f"{table}: there is no key {key!r} ({description_of(known[f'{table}.{key}']).rstrip('.')})"
    keys = [
        name.partition(".")[2]
        for name, held in known.items()
        if name.partition(".")[0] == key and name in REQUIRED
    ]
    return f"there is no key {key!r}; a job needs the table [{key}] with {' and '.join(keys)}"


def _entry_of(where: str, content: Any) -> str:
    """Return the place of an entry of a table that a user fills, of which msgspec does not tell the key."""
    table = where.removesuffix("[...]")
    if table == where:
        return where
    held, kind = content, Job
    for part in table.split("."):
        held, kind = held[part], get_type_hints(kind)[part]
    for key, value in held.items():
        try:
            msgspec.convert({key: value}, kind)
        except msgspec.ValidationError:
            return f"{table}[{key!r}]"
    return table


def _given(where: str, content: Any) -> str:
    """Return " is VALUE" for what a job file has at a place, "" where that is a table or nothing."""
    entry = re.fullmatch(r"([\w.]+)\['(.+)'\]", where)
    for part in [*entry[1].split("."), entry[2]] if entry else re.findall(r"[^.\[\]]+", where):
        if isinstance(content, list) and part.isdigit():
            content = content[int(part)]
        elif isinstance(content, dict) and part in content:
            content = content[part]
        else:
            return ""
    if isinstance(content, dict):
        return ""
    shown = repr(content)
    return f" is {shown if len(shown) <= SHOWN_LETTERS else f'{shown[:SHOWN_LETTERS]}…'}"


def _check_durations(job: Job) -> None:
    """Refuse times that Spark cannot count in microseconds, and writers that never have the time."""
    durations = {
        "source.late_after": job.source.late_after,
        "sink.rotate_interval": job.sink.rotate_interval,
        "target.transaction_timeout": job.target.transaction_timeout,
        "trigger.interval": job.trigger.interval,
    }
    for key, text in durations.items():
        if text and duration_ms(text) > DURATION_MAX_MS:
            raise JobFileError(f"{key} is {text!r}: that is more than 100 years; give less")
    if duration_ms(job.target.transaction_timeout) < TRANSACTION_MIN_MS:
        raise JobFileError(
            f"target.transaction_timeout is {job.target.transaction_timeout!r}: no batch is written in "
            "less than 1s; give more"
        )


def _check_start(start: str) -> None:
    if (start_timestamp_ms(start) or 0) < 0:
        raise JobFileError(f"source.start is {start!r}, before 1970, where no record is; write 'earliest'")
    if start_timestamp_ms(start) is None and start not in ("earliest", "latest"):
        raise JobFileError(
            f"source.start is {start!r}: expected 'earliest', 'latest' or a time such as "
            "'2013-01-01T00:00:00Z'"
        )


def start_timestamp_ms(start: str) -> int | None:
    """Return the time that `source.start` names (UTC if it has no zone), or None for a word."""
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
