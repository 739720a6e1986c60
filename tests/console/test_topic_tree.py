"""The output of describe about a topic."""

from typing import Any, NamedTuple

from kafka.admin import OffsetSpec

from console.topic_tree import topic_id, topic_text, topic_tree


class Listed(NamedTuple):
    offset: int


class Admin:
    """An admin client that answers offsets and configurations of one topic as kafka-python's does."""

    def list_partition_offsets(self, specs: dict[Any, Any]) -> dict[Any, Listed]:
        return {
            place: Listed(place.partition if spec == OffsetSpec.EARLIEST else 10)
            for place, spec in specs.items()
        }

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[Any, Any]:
        assert config_filter == "all"
        return {
            "topic": {
                resources[0].name: {
                    "retention.ms": {"value": "5", "config_source": "DYNAMIC_TOPIC_CONFIG"},
                    "cleanup.policy": {"value": "delete", "config_source": "DEFAULT_CONFIG"},
                }
            }
        }


TOPIC = {
    "name": "orders",
    "topic_id": "7e1d",
    "partitions": [
        {"partition_index": 1, "leader_id": 1, "replica_nodes": [1]},
        {"partition_index": 0, "leader_id": 1, "replica_nodes": [1]},
    ],
}


def test_the_tree_holds_partitions_in_order_with_offsets_and_what_was_set() -> None:
    tree = topic_tree(Admin(), TOPIC, everything=False)
    assert [
        (partition["partition"], partition["start_offset"], partition["end_offset"])
        for partition in tree["partitions"]
    ] == [
        (0, 0, 10),
        (1, 1, 10),
    ]
    assert tree["configs"] == {"retention.ms": {"value": "5", "source": "DYNAMIC_TOPIC_CONFIG"}}


def test_the_offsets_of_a_view_say_nothing_of_the_number_of_its_records() -> None:
    tree = topic_tree(Admin(), TOPIC, everything=False)
    assert topic_text(tree).splitlines()[1].split()[-1] == "RECORDS"
    tree["configs"]["kawal.sql"] = {"value": "SELECT total FROM orders", "source": "DYNAMIC_TOPIC_CONFIG"}
    assert topic_text(tree).splitlines()[1].split()[-1] == "END"


def test_the_whole_configuration_is_shown_on_request() -> None:
    assert list(topic_tree(Admin(), TOPIC, everything=True)["configs"]) == ["cleanup.policy", "retention.ms"]


def test_the_tables_are_for_people() -> None:
    assert topic_text(topic_tree(Admin(), TOPIC, everything=False)).splitlines() == [
        "orders  (id 7e1d, 2 partitions)",
        "PARTITION  LEADER  START  END  RECORDS",
        "        0       1      0   10       10",
        "        1       1      1   10        9",
        "CONFIGURATION  VALUE  SOURCE",
        "retention.ms   5      DYNAMIC_TOPIC_CONFIG",
    ]


def test_a_topic_of_an_old_broker_has_no_id() -> None:
    assert topic_id({"name": "t"}) is None


class TieredAdmin(Admin):
    """An admin client for a topic of which the old records have left the disk."""

    def list_partition_offsets(self, specs: dict[Any, Any]) -> dict[Any, Listed]:
        offsets = {
            OffsetSpec.EARLIEST: 5, OffsetSpec.LATEST: 100,
            OffsetSpec.EARLIEST_LOCAL: 60, OffsetSpec.LATEST_TIERED: 89,
        }  # fmt: skip
        return {place: Listed(offsets[spec]) for place, spec in specs.items()}

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[Any, Any]:
        entry = {"value": "true", "config_source": "DYNAMIC_TOPIC_CONFIG"}
        return {"topic": {resources[0].name: {"remote.storage.enable": entry}}}


def test_a_tiered_topic_tells_what_is_where() -> None:
    tree = topic_tree(TieredAdmin(), {**TOPIC, "partitions": TOPIC["partitions"][1:]}, everything=False)
    (partition,) = tree["partitions"]
    assert [partition[key] for key in ("local_start_offset", "pending_offset")] == [60, 90]
    assert [partition[key] for key in ("remote_only", "local", "pending")] == [55, 40, 10]
    assert topic_text(tree).splitlines()[3:5] == [
        "PARTITION  LOCAL START  PENDING START  STORE ONLY  LOCAL  PENDING",
        "        0           60             90          55     40       10",
    ]


def test_a_topic_of_which_nothing_was_copied_yet_is_all_local_and_pending() -> None:
    class Fresh(TieredAdmin):
        def list_partition_offsets(self, specs: dict[Any, Any]) -> dict[Any, Listed]:
            offsets = {OffsetSpec.EARLIEST: 0, OffsetSpec.LATEST: 3, OffsetSpec.EARLIEST_LOCAL: 0}
            return {place: Listed(offsets.get(spec, -1)) for place, spec in specs.items()}

    (_, partition) = topic_tree(Fresh(), TOPIC, everything=False)["partitions"]
    assert [partition[key] for key in ("remote_only", "local", "pending")] == [0, 3, 3]
