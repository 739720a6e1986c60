"""Tests of the web console, without sockets."""
