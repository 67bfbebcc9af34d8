"""Runs on disk: one folder a run, readable without this package and safe against a kill.

A run is a configuration (JSON), columns (one row a record), a summary (JSON) and named arrays.
The store knows nothing more about it, so that a table of derived numbers is kept the same way.

>>> import tempfile, numpy as np
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(folder)
...     with store.begin({"learning_rate": 1e-2}) as live:
...         live.append({"step": np.arange(3)})
...         run = live.finish({"step": np.arange(3)}, {"outcome": "finished"})
...     found = store.find({"learning_rate": 0.01})
>>> found.id == run.id, found.columns["step"].tolist(), found.summary
(True, [0, 1, 2], {'outcome': 'finished'})
"""

from latebloom.store.errors import DamagedError, GoneError, NewerError, StoreError
from latebloom.store.export import export_bytes
from latebloom.store.index import Index
from latebloom.store.layout import default_path, run_key
from latebloom.store.live import LiveRun
from latebloom.store.run import StoredRun
from latebloom.store.store import Store

__all__ = [
    "DamagedError",
    "GoneError",
    "Index",
    "LiveRun",
    "NewerError",
    "Store",
    "StoreError",
    "StoredRun",
    "default_path",
    "export_bytes",
    "run_key",
]
