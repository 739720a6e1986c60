"""The code for the messages of one version of an API, generated before the first of them comes.

Codecs, weights and constructors are written at their first use, 1 to 10 ms for a version.  On the event loop
all clients would wait for that, so the thread that imports a handler makes them, too.
"""

from __future__ import annotations

from typing import Any, Final

from broker.connections.message_weight import prepare_weight
from protocol.schema import declaration, prepare_constructors
from protocol.wire import prepare_decoder, prepare_encoder, prepare_narrow_decoder

NARROW_ELEMENTS: Final = 2_000
"""The elements of requests of some size that are decoded on the loop, about 2 ms; else a thread does it."""


def prepare_codecs(request_type: type[Any], response_type: type[Any], version: int) -> None:
    """Make everything that decoding a request and making and encoding its answer need, if it is not there."""
    prepare_decoder(request_type, version)
    if declaration(request_type).hot:
        prepare_narrow_decoder(request_type, version, NARROW_ELEMENTS)
    prepare_encoder(response_type, version)
    for cls in (request_type, response_type):
        prepare_weight(cls)
        prepare_constructors(cls)
