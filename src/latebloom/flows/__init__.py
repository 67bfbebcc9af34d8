"""How the continuous limit is integrated: gradient flow, its stabilised solver, and slow flows, its limits λ → 0.

The names are those of `__init__.pyi`, each loaded when it is first used: an l1 path does not wait for diffrax.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
