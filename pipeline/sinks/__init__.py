"""Where rows land."""
