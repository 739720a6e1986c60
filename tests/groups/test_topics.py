"""Tests of groups/topics.py: the broker provides the topics that groups need."""

from __future__ import annotations

from broker.catalogue.topics import Catalogue
from groups.topics import Client, TopicFacts, Topics
from tests.groups.kit import Topics as TopicsOfTests


def test_the_brokers_catalogue_and_that_of_the_tests_fit() -> None:
    made = TopicsOfTests()
    topic = made.create("t", 3)
    lent: list[Topics] = [Catalogue(), made]
    assert [dict(topics.by_name) for topics in lent] == [{}, {"t": topic}]
    fact: TopicFacts = made.by_id[topic.topic_id]
    assert (fact.name, fact.topic_id, fact.partition_count) == ("t", topic.topic_id, 3)


def test_a_client_without_a_name_is_kafkas_anonymous() -> None:
    assert Client(version=9, client_id="app", host="/10.0.0.1").user == "ANONYMOUS"
