"""The topics that take dead letters: finding one, and creating it where that is allowed.

Source: KIP-1191; Kafka 4.4's ShareGroupDLQValidator and ShareGroupDLQStateManager.  Kafka archives records
whose topic cannot be used; here they wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from broker.catalogue.metadata import Metadata
from broker.catalogue.queue_lengths import rear_of
from broker.catalogue.topic_admin import NewTopic
from broker.catalogue.topics import Topic
from broker.config.config import Config
from broker.config.kawal_topic_keys import DEAD_LETTERS_KEY
from broker.errors import RequestError
from broker.fetching.letters_elsewhere import Unwritable, create_elsewhere
from broker.loop.loop import Loop
from broker.loop.slices import Until
from protocol.error_codes import ErrorCode


class DeadLetterTopics:
    """Finds the topics for dead letters."""

    def __init__(self, metadata: Metadata, loop: Loop) -> None:
        self._metadata = metadata
        self._loop = loop

    def topic(self, name: str, source: str) -> Generator[Until | None, None, Topic]:
        """Return the topic for the letters of a source.

        The tail queue of the source may have its name, and is made if it is missing.
        Raises: Unwritable.
        """
        config, is_rear = self._metadata.config, name == rear_of(source)
        if not is_rear:
            check_name(name, config)
        topic = self._metadata.catalogue.find(name)
        if topic is None:
            if not is_rear and not config.errors_deadletterqueue_auto_create_topics_enable:
                raise Unwritable(
                    f"dead-letter topic {name!r} does not exist; create it with {DEAD_LETTERS_KEY.name}=true,"
                    " or let the server do so: errors.deadletterqueue.auto.create.topics.enable=true"
                )
            topic = yield from self._create(name)
        self._check(topic)
        return topic

    def _check(self, topic: Topic) -> None:
        """Check that a topic takes dead letters.  Raises: Unwritable."""
        settings = self._metadata.topics.settings(topic)
        if topic.view is not None:
            raise Unwritable(f"dead-letter topic {topic.name!r} is a view, which stores nothing")
        if not settings.errors_deadletterqueue_group_enable:
            raise Unwritable(
                f"topic {topic.name!r} is not for dead letters; set {DEAD_LETTERS_KEY.name}=true on it"
            )
        if settings.compacts:
            raise Unwritable(
                f"dead-letter topic {topic.name!r} is compacted, which needs keys; set cleanup.policy=delete"
            )

    def _create(self, name: str) -> Generator[Until | None, None, Topic]:
        now_ms = self._loop.clock.turn_ms
        topics = self._metadata.topics
        # The time of a letter is that of its writing, whatever the server's topics have.
        configs = {DEAD_LETTERS_KEY.name: "true", "message.timestamp.type": "CreateTime"}
        if not self._metadata.nodes.is_controller:
            yield from create_elsewhere(self._metadata, self._loop, name, configs)
            return self._found(name, "this node does not know it yet")
        try:
            if name not in self._metadata.catalogue.by_name:
                new = NewTopic(name=name, configs=configs)
                topics.create(topics.check_new(new, self._loop.clock.wall_ms(now_ms)), now_ms)
        except RequestError as error:
            raise Unwritable(f"dead-letter topic {name!r} cannot be created: {error}") from error
        outcome: list[ErrorCode | None] = []

        def wait(resume: Callable[[], None]) -> None:
            def durable(error: ErrorCode | None) -> None:
                outcome.append(error)
                resume()

            self._metadata.metadata_log.when_durable(durable, now_ms)

        yield Until(wait)
        return self._found(name, str(outcome))

    def _found(self, name: str, why: str) -> Topic:
        """Return a topic that was made.  Raises: Unwritable."""
        topic = self._metadata.catalogue.find(name)
        if topic is None:
            raise Unwritable(f"dead-letter topic {name!r} could not be stored: {why}")
        return topic


def check_name(name: str, config: Config) -> None:
    """Check that a dead-letter topic may have this name.  Raises: Unwritable."""
    prefix = config.errors_deadletterqueue_topic_name_prefix
    if not name.startswith(prefix):
        raise Unwritable(
            f"dead-letter topic {name!r} does not begin with {prefix!r}, as"
            " errors.deadletterqueue.topic.name.prefix demands"
        )
