"""The command line: every command parses, makes one library call, and prints."""

from latebloom.cli.app import main

__all__ = ["main"]
