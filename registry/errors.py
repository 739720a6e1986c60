"""The errors of framed values and of the registry that has their schemas."""

from __future__ import annotations


class RegistryError(ValueError):
    """The base of all; the text is a sentence for people."""


class NotOfSchema(RegistryError):
    """Bytes that are not of their schema."""


class SchemaProblem(RegistryError):
    """A schema that cannot be read."""


class Unreachable(RegistryError):
    """A registry that does not answer, or not as one does."""
