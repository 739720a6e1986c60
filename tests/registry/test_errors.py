"""The errors of framed values."""

from __future__ import annotations

from registry import errors


def test_all_of_them_are_errors_of_the_registry_and_of_values() -> None:
    kinds = (errors.NotOfSchema, errors.SchemaProblem, errors.Unreachable)
    assert all(issubclass(kind, errors.RegistryError) for kind in kinds)
    assert issubclass(errors.RegistryError, ValueError)
