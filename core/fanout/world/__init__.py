"""What touches the world: the engine, the API, tools and output files."""
