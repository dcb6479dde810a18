"""The vocabulary: nouns, facts, effects and what a screen may read."""
