"""The screens: which widgets stand where, and what each key does."""
