"""The masks of the web console in the server's configuration."""

from __future__ import annotations

import pytest

from broker.config.console_keys import masks_problem
from console.errors import UsageError
from console.web.masks import parse_mask


@pytest.mark.parametrize("mask", ["cards", "cards:key", "c*:number", "a.b_c-d?:`odd name`"])
def test_masks_that_the_console_reads_are_accepted(mask: str) -> None:
    assert masks_problem((mask,)) is None
    parse_mask(mask)


@pytest.mark.parametrize("mask", [":key", "cards:", "a b", "a/b:key", "x" * 250])
def test_masks_that_the_console_would_refuse_are_refused(mask: str) -> None:
    assert masks_problem(("cards", mask)) == f"{mask!r} is not TOPIC or TOPIC:PART"
    with pytest.raises(UsageError):
        parse_mask(mask)
