"""Databases of durability `remote` beside a `default` of another class: what a restore then takes apart.

Groups' offsets and the states of transactions lie in `default`.  A restore brings each log to its own end:
those of durability `remote` to what was acknowledged last, the others to the last copy.  So a transaction may
be complete, by the markers in its data, and open for its coordinator, which then aborts what is left of it;
or it is open in its data, and no coordinator knows of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT: Final = "default"
"""The database of the coordinators' topics."""
NAMED_MAX: Final = 3

ADVICE: Final = (
    "'kawal databases alter default --config durability=remote', unless no transactions and no groups whose "
    "offsets must not go back are used; after a restore 'kawal transactions hanging' names what is left open"
)


def mixed_classes(classes: Mapping[str, str]) -> str | None:
    """Return what it means that `default` is less safe than other databases; None if it is not."""
    own = classes.get(DEFAULT, "disk")
    safer = sorted(name for name, durability in classes.items() if durability == "remote" != own)
    if not safer:
        return None
    more = f" and {len(safer) - NAMED_MAX} more" if len(safer) > NAMED_MAX else ""
    return (
        f"{', '.join(safer[:NAMED_MAX])}{more}: durability 'remote' beside 'default' of durability {own!r}, "
        "which has groups' offsets and the states of transactions: after a restore from the object store "
        "groups may read records again, and a transaction that was committed just before may be there in "
        "part, or be open until it is aborted by hand"
    )
