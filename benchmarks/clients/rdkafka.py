"""librdkafka's C interface, from the shared library inside the confluent-kafka wheel.

The Python objects of confluent-kafka cost about a microsecond per record, on the cores the server needs.
Here whole arrays of records cross the language border in one call, so that the server is measured and not the
client's Python.  The declarations follow `rdkafka.h` of librdkafka 2.x; only what the loads need is declared.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Mapping
from ctypes import CDLL, POINTER, PyDLL, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

PRODUCER, CONSUMER = 0, 1
COPY_AND_USE_PARTITION = 0x2 | 0x8
"""RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION: every record of a batch names its own partition."""
EVENT_DELIVERY_REPORT = 0x1
EVENT_ERROR = 0x8


class Message(ctypes.Structure):
    """`rd_kafka_message_t`."""

    _fields_ = [
        ("err", c_int),
        ("topic", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("size_bytes", c_size_t),
        ("key", c_void_p),
        ("key_size_bytes", c_size_t),
        ("offset", c_int64),
        ("private", c_void_p),
    ]


class RdKafkaError(Exception):
    """librdkafka refused a call; the text is its own."""


def library_path() -> Path:
    """Return the library the installed confluent-kafka wheel brings (Linux wheels: confluent_kafka.libs/)."""
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise RdKafkaError("confluent-kafka is not installed: run 'pip install --group bench .'")
    folder = Path(spec.origin).parent.parent / "confluent_kafka.libs"
    found = sorted(folder.glob("librdkafka*"))
    if not found:
        raise RdKafkaError(f"no librdkafka in {folder}: use --client confluent on this platform")
    return found[0]


def _load() -> tuple[CDLL, PyDLL]:
    path = str(library_path())
    library, keeping_the_lock = CDLL(path), PyDLL(path)
    signatures: dict[str, tuple[object, list[object]]] = {
        "rd_kafka_version_str": (c_char_p, []),
        "rd_kafka_err2str": (c_char_p, [c_int]),
        "rd_kafka_last_error": (c_int, []),
        "rd_kafka_conf_new": (c_void_p, []),
        "rd_kafka_conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
        "rd_kafka_conf_set_events": (None, [c_void_p, c_int]),
        "rd_kafka_new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
        "rd_kafka_destroy_flags": (None, [c_void_p, c_int]),
        "rd_kafka_topic_new": (c_void_p, [c_void_p, c_char_p, c_void_p]),
        "rd_kafka_topic_destroy": (None, [c_void_p]),
        "rd_kafka_produce_batch": (c_int, [c_void_p, c_int32, c_int, c_void_p, c_int]),
        "rd_kafka_outq_len": (c_int, [c_void_p]),
        "rd_kafka_purge": (c_int, [c_void_p, c_int]),
        "rd_kafka_queue_new": (c_void_p, [c_void_p]),
        "rd_kafka_queue_get_main": (c_void_p, [c_void_p]),
        "rd_kafka_queue_poll": (c_void_p, [c_void_p, c_int]),
        "rd_kafka_queue_destroy": (None, [c_void_p]),
        "rd_kafka_event_type": (c_int, [c_void_p]),
        "rd_kafka_event_message_count": (c_size_t, [c_void_p]),
        "rd_kafka_event_message_next": (POINTER(Message), [c_void_p]),
        "rd_kafka_event_error_string": (c_char_p, [c_void_p]),
        "rd_kafka_event_destroy": (None, [c_void_p]),
        "rd_kafka_consume_start_queue": (c_int, [c_void_p, c_int32, c_int64, c_void_p]),
        "rd_kafka_consume_batch_queue": (ctypes.c_ssize_t, [c_void_p, c_int, POINTER(c_void_p), c_size_t]),
        "rd_kafka_query_watermark_offsets": (
            c_int,
            [c_void_p, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64), c_int],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    # Frees a record without giving up Python's lock: nothing else runs here, and it is called per record.
    keeping_the_lock.rd_kafka_message_destroy.restype = None
    keeping_the_lock.rd_kafka_message_destroy.argtypes = [c_void_p]
    return library, keeping_the_lock


LIBRARY, _UNLOCKED = _load()
destroy_message = _UNLOCKED.rd_kafka_message_destroy


def version() -> str:
    """Return librdkafka's own version."""
    text: bytes = LIBRARY.rd_kafka_version_str()
    return text.decode()


def error_text(code: int) -> str:
    """Return librdkafka's text for an error code."""
    text: bytes = LIBRARY.rd_kafka_err2str(code)
    return text.decode()


class Client:
    """A producer or consumer instance with one topic handle."""

    def __init__(self, kind: int, topic: str, settings: Mapping[str, str], *, events: int = 0) -> None:
        """Create the instance from settings by librdkafka's names."""
        problem = ctypes.create_string_buffer(512)
        configuration = LIBRARY.rd_kafka_conf_new()
        for name, value in settings.items():
            if LIBRARY.rd_kafka_conf_set(configuration, name.encode(), value.encode(), problem, 512) != 0:
                raise RdKafkaError(f"{name}={value}: {problem.value.decode()}")
        if events:
            LIBRARY.rd_kafka_conf_set_events(configuration, events)
        self.handle = LIBRARY.rd_kafka_new(kind, configuration, problem, 512)
        if not self.handle:
            raise RdKafkaError(problem.value.decode())
        self.topic_name = topic.encode()
        self.topic = LIBRARY.rd_kafka_topic_new(self.handle, self.topic_name, None)
        if not self.topic:
            raise RdKafkaError(f"topic {topic!r}: {error_text(LIBRARY.rd_kafka_last_error())}")

    def watermarks(self, partition: int) -> tuple[int, int]:
        """Ask the broker for the first and the next offset of a partition."""
        low, high = c_int64(), c_int64()
        code = LIBRARY.rd_kafka_query_watermark_offsets(
            self.handle, self.topic_name, partition, byref(low), byref(high), 10_000
        )
        if code:
            raise RdKafkaError(f"watermarks of {self.topic_name.decode()}-{partition}: {error_text(code)}")
        return low.value, high.value
