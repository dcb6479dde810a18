"""The version, read from the installed distribution."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("fanout-tui")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "0+source"
