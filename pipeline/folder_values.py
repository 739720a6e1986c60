"""The values of partition columns, as the folders of Hive-style tables name them."""

from __future__ import annotations

from urllib.parse import unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder in which Spark and Hive put rows without a value in the partition column."""


def folder_values(path: str) -> dict[str, str | None]:
    """Return the partition columns that a file's folders name; None where there is no value."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {name: None if value == NULL_FOLDER else unquote(value) for name, _, value in folders}
