"""Statements on networks: modular addition, teacher and student, images."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
