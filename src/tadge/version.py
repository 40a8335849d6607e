"""The version of tadge that is installed."""

from importlib.metadata import version

__version__ = version("tadge")
