"""The registers of the paper and of its blog post: their statements, and the claims that check them."""

from latebloom.catalog.beyond_l2.register import blog, matrices, networks, sparse, theory

STATEMENTS = (*theory.STATEMENTS, *sparse.STATEMENTS, *matrices.STATEMENTS, *networks.STATEMENTS)

BLOG = blog.STATEMENTS
