"""The program of confluent-kafka."""
