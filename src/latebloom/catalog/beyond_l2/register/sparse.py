"""Statements on vectors: sparse recovery, weight decay, depth, coherence."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
