"""References in a broker's file of properties to values that are kept elsewhere (KIP-297, KIP-421).

    config.providers=env,file,dir
    config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
    a.key=${env:NAME}   ${file:/path/secrets.properties:KEY}   ${dir:/path:FILE}

The three classes that Kafka brings are known, with their parameters; no class is loaded.  A reference that
leads to nothing ends the start, where Kafka takes its own text for the value, as a password perhaps.
Source: ConfigTransformer and the providers in org.apache.kafka.common.config.provider of Kafka 4.3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Final

from broker.config.config_keys import ConfigError, ConfigProblem
from broker.config.properties import FILE_BYTES_MAX, Property, read_properties

PREFIX: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

Provider = Callable[[str, str], str]
"""Returns the value of a key at a path.  Raises: ValueError, with one sentence that has no value in it."""


def resolved(
    properties: Mapping[str, Property], environment: Mapping[str, str]
) -> tuple[dict[str, Property], list[str]]:
    """Return the properties with all references replaced, and the keys that were about providers.

    Raises: ConfigError, with the place of the reference or of the provider at fault.
    """
    about = [name for name in properties if name == PREFIX or name.startswith(f"{PREFIX}.")]
    providers = _providers(properties, environment)
    found: dict[str, Property] = {}
    for name, entry in properties.items():
        if name in about:
            continue

        def value_of(reference: re.Match[str], entry: Property = entry) -> str:
            return _value(reference, entry, providers)

        found[name] = entry._replace(value=_REFERENCE.sub(value_of, entry.value))
    return found, about


def _value(reference: re.Match[str], entry: Property, providers: Mapping[str, Provider]) -> str:
    name, path, key = reference[1], reference[2] or "", reference[3]
    provider = providers.get(name)
    if provider is None:
        raise ConfigError(
            entry.key,
            None,
            f"refers to the config provider {name!r}, which {PREFIX} does not name; add it, with"
            f" {PREFIX}.{name}.class",
            source=entry.place,
        )
    try:
        return provider(path, key)
    except ValueError as error:
        raise ConfigError(entry.key, None, f"refers to {error}", source=entry.place) from error


def _providers(properties: Mapping[str, Property], environment: Mapping[str, str]) -> dict[str, Provider]:
    """Return the providers by name.  Raises: ConfigError."""
    listed = properties.get(PREFIX)
    if listed is None:
        return {}
    found: dict[str, Provider] = {}
    for name in filter(None, (part.strip() for part in listed.value.split(","))):
        prefix = f"{PREFIX}.{name}."
        kind = properties.get(f"{prefix}class")
        make = _MAKERS.get(kind.value.strip().removeprefix(_PACKAGE)) if kind is not None else None
        if make is None:
            at = kind or listed
            raise ConfigError(
                f"{prefix}class",
                None,
                f"must name one of {', '.join(_PACKAGE + known for known in _MAKERS)}; no other class is"
                " loaded",
                source=at.place,
            )
        parameters = {
            key.removeprefix(f"{prefix}param."): entry
            for key, entry in properties.items()
            if key.startswith(f"{prefix}param.")
        }
        found[name] = make(parameters, environment)
    return found


def _of_environment(parameters: Mapping[str, Property], environment: Mapping[str, str]) -> Provider:
    pattern = _only(parameters, "allowlist.pattern")
    try:
        allowed = None if pattern is None else re.compile(pattern.value)
    except re.error as error:
        assert pattern is not None
        raise ConfigError(pattern.key, None, f"is no pattern: {error}", source=pattern.place) from error

    def value(path: str, key: str) -> str:
        if path:
            raise ValueError(f"the environment by the path {path!r}; write ${{env:{key}}}, without a path")
        if allowed is not None and not allowed.fullmatch(key):
            raise ValueError(f"the environment variable {key!r}, which allowlist.pattern does not allow")
        if key not in environment:
            raise ValueError(f"the environment variable {key!r}, which is not set")
        return environment[key]

    return value


def _of_files(parameters: Mapping[str, Property], _: Mapping[str, str]) -> Provider:
    allowed = _allowed_paths(parameters)
    files: dict[str, dict[str, str]] = {}

    def value(path: str, key: str) -> str:
        _check_path(path, allowed)
        if path not in files:
            try:
                read = read_properties(path, other_encoding="latin-1")
            except ConfigProblem as error:
                raise ValueError(f"a file that is of no use: {error}") from error
            files[path] = {entry.key: entry.value for entry in read}
        if key not in files[path]:
            raise ValueError(f"the key {key!r} of {path}, which is not in it")
        return files[path][key]

    return value


def _of_directories(parameters: Mapping[str, Property], _: Mapping[str, str]) -> Provider:
    allowed = _allowed_paths(parameters)

    def value(path: str, key: str) -> str:
        file = os.path.join(path, key)
        _check_path(file, allowed)
        if os.path.dirname(key) or key in ("", ".", ".."):
            raise ValueError(f"the file {key!r} of {path}: give a name without folders")
        try:
            with open(file, "rb") as stream:
                content = stream.read(FILE_BYTES_MAX + 1)
            text = content.decode()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ValueError(f"{file}, which cannot be read: {reason}") from error
        if len(content) > FILE_BYTES_MAX:
            raise ValueError(f"{file}, which is larger than {FILE_BYTES_MAX} bytes")
        return text

    return value


def _allowed_paths(parameters: Mapping[str, Property]) -> tuple[str, ...]:
    """Return the folders and files that may be read; empty: all."""
    paths = _only(parameters, "allowed.paths")
    if paths is None:
        return ()
    return tuple(os.path.realpath(path.strip()) for path in paths.value.split(",") if path.strip())


def _check_path(path: str, allowed: tuple[str, ...]) -> None:
    """Raise ValueError for a path that is not inside one of the allowed ones, symbolic links followed."""
    if not os.path.isabs(path):
        raise ValueError(f"the path {path!r}; give one that begins at /")
    real = os.path.realpath(path)
    if allowed and not any(os.path.commonpath((real, folder)) == folder for folder in allowed):
        raise ValueError(f"{path}, which allowed.paths does not allow")


def _only(parameters: Mapping[str, Property], known: str) -> Property | None:
    """Return the one parameter that a provider knows.  Raises: ConfigError for another."""
    for name, entry in parameters.items():
        if name != known:
            raise ConfigError(entry.key, None, f"is no parameter here; there is {known}", source=entry.place)
    return parameters.get(known)


_MAKERS: Final[dict[str, Callable[[Mapping[str, Property], Mapping[str, str]], Provider]]] = {
    "EnvVarConfigProvider": _of_environment,
    "FileConfigProvider": _of_files,
    "DirectoryConfigProvider": _of_directories,
}
