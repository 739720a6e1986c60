"""The program of aiokafka."""
