"""All that an installation shows of Kawal; its folder `_packages` is for Kawal's own processes alone."""
