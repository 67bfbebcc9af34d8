"""Statements on matrices: completion, sensing, leverage, deep factorisation."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
