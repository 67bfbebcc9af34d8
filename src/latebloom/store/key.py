"""The identity of a run: a digest of its configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from latebloom.store.plain import plain


def canonical(configuration: Mapping[str, Any]) -> str:
    """The one text of a configuration: sorted keys, no spaces, floats by their shortest exact text.

    >>> canonical({"b": 0.00001, "a": (1, 2)})
    '{"a":[1,2],"b":1e-05}'
    """
    value = plain(configuration, "configuration")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(configuration: Mapping[str, Any]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the canonical text.

    >>> run_key({"learning_rate": 1e-2, "steps": 10}) == run_key({"steps": 10, "learning_rate": 0.01})
    True
    """
    return hashlib.sha256(canonical(configuration).encode()).hexdigest()[:16]
