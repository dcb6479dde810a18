"""The command line: options, verbs, and running a script with or without a screen."""
