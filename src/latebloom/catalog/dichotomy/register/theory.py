"""Statements of Section 3 and Appendices C to F."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
