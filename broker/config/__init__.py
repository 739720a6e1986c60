"""Every setting, its limits, and the sources of its value."""
