"""Tests of the copy in an object store, on simulated disks and stores."""
