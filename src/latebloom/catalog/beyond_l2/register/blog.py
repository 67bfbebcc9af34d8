"""Statements of the blog post."""

from latebloom.catalog.statements import Statement

STATEMENTS: tuple[Statement, ...] = ()
