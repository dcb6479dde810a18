"""The vocabulary: nouns, facts, commands and what a screen may read."""
