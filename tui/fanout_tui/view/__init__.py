"""What the screen shows, as plain values: snapshots in, lines of spans out.

Nothing here knows a terminal library, reads a clock or keeps a widget; so every
sentence on the screen can be tested with numbers.
"""
