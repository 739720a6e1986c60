"""Kafka's wire protocol: bytes to typed messages and back; knows nothing of brokers, disks or clocks."""
