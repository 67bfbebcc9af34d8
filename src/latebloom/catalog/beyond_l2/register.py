"""The register of the paper: its statements in their order, and the claims that check them."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
