"""A journal's fold, written down so that a run opens fast."""
