"""Run state: facts folded in order."""
