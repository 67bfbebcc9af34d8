"""Statements of Section 2 and Appendix C.1 to C.4: the general theorem and what it stands on."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
