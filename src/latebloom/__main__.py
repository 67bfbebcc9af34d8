"""`python -m latebloom` is `latebloom`."""

from latebloom.cli import main

main()
