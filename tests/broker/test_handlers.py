"""The list of served APIs agrees with the headers of the handlers and with the message declarations."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from broker.handlers import APIS, Api
from protocol.schema import declaration


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_handlers_header_names_the_versions_that_the_list_serves(api: Api) -> None:
    header = (import_module(f"broker.handlers.{api.name}").__doc__ or "").partition("\n")[0]
    ranges = re.findall(r"v(\d+)(?:-(\d+))?", header)
    assert ranges, header
    first, last = ranges[-1]
    assert (int(first), int(last or first)) == (api.minimum, api.maximum)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_served_version_is_declared(api: Api) -> None:
    declared = declaration(api.request_type()).versions
    assert api.minimum in declared
    assert api.maximum in declared


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_api_has_a_handler(api: Api) -> None:
    assert callable(api.handler())
