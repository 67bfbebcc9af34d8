"""Configurations and summaries as runs have them in a store, without a run."""

from __future__ import annotations

from typing import Any


def milestone(first: float | None, low: float = 0.0, last: float = 2000) -> dict[str, Any]:
    """As a summary has it."""
    crossing = None if first is None else {"step": first, "bracket": [low, first], "pinned": True}
    told = {"name": "n", "column": "c", "threshold": 1e-3, "first": crossing, "stable": None, "lost": None}
    return told | {"last_step": last, "clock": "step", "log_time": None}


def summary(t1: float | None = 59, t2: float | None = None, **final: float) -> dict[str, Any]:
    """Of a run that memorised at t1 and generalised at t2."""
    return {
        "complete": True,
        "outcome": {"ending": "finished", "step": 2000, "sentence": "finished after 2,000 steps"},
        "milestones": {"memorised": milestone(t1, 57), "generalised": milestone(t2, 1900), "sharpness": None},
        "final": {"step": 2000.0, "test_error": 0.02} | final,
        "provenance": {"seconds": 0.5, "gradients": 2000, "learning_rate": 0.1},
    }


def trained(problem: str = "sparse_recovery[dimension=20,seed=1]", **dynamics: str | None) -> dict[str, Any]:
    """A configuration as a job has it."""
    told = {"method": "gradient_descent[learning_rate=0.1]", "penalty": "l1[strength=0.001]"} | dynamics
    records = {"probes": ["train_error"], "memorised_at": 1e-3, "generalised_at": 1e-3, "records_per_decade": 60}
    budget = {"steps": 2000, "stop_at": None}
    return {"kind": "train", "engine": 2, "dynamics": {"problem": problem} | told, "records": records, "budget": budget}
