"""The register of the paper: its statements, and the claims that check them."""

from latebloom.catalog.dichotomy.register import networks, theory

STATEMENTS = (*networks.STATEMENTS, *theory.STATEMENTS)
