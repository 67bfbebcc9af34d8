"""The texts that identify records in the store: whoever changes one orphans what users have stored under it.

`texts.json` holds them; `python tests/core/test_texts.py` writes it anew, for a change that is meant.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from cases import METHODS, OTHERS, PENALTIES, PROBES, PROBLEMS

KEPT = Path(__file__).with_name("texts.json")


def texts() -> dict[str, str]:
    """Every case's text; functions of one's own are left out, whose identity is that of a process."""
    named = {probe.column: probe.text for probe in PROBES}
    named |= {str(case): case.penalty.text for case in PENALTIES}
    named |= {str(case): case.method.text for case in METHODS}
    named |= {str(case): case.problem.text for case in PROBLEMS if case.name != "a-net"}
    named |= {name: record.text for name, record in OTHERS.items()}
    # Digests of arrays that were computed hang on the last digit, which another processor may round differently.
    return {name: re.sub(r"#[0-9a-f]{12}", "#", text) for name, text in named.items()}


def test_texts_are_the_ones_kept():
    assert texts() == json.loads(KEPT.read_text())


if __name__ == "__main__":
    KEPT.write_text(json.dumps(texts(), indent=1) + "\n")
