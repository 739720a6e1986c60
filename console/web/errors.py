"""The error that ends a page with a status and a sentence."""

from __future__ import annotations

from console.errors import CommandError


class PageError(CommandError):
    """A page that cannot be shown: its status, a sentence for its reader, and what to do about it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status

    def __reduce__(self) -> tuple[type[PageError], tuple[int, str]]:
        return type(self), (self.status, str(self))
