"""Prices, what was spent, ceilings, and what finishing takes."""
