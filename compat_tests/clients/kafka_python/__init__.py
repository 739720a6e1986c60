"""The program of kafka-python."""
