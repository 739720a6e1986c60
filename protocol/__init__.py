"""Kafka's wire protocol: bytes to typed messages and back, without brokers, disks or clocks."""
