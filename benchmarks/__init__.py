"""Kawal beside Apache Kafka, measured in one run."""
