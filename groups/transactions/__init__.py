"""Transactions: the coordinator of Kafka's exactly-once protocol, as a pure state machine."""
