"""Statements on figures and networks: Sections 1, 2 and 4, Appendix B."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
