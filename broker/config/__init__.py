"""Every setting, its limits, and where its value comes from."""
