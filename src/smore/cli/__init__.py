"""The command line: one file per command."""

from smore.cli.app import main

__all__ = ["main"]
