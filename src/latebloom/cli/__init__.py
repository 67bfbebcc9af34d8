"""The command line: every command parses, makes one library call, and prints."""

import gc

# Loading makes few cycles: looking for them after every 700 objects is a tenth of the time of a short command.
gc.set_threshold(50_000)

from latebloom.cli.app import main  # noqa: E402

__all__ = ["main"]
