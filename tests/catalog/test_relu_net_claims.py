"""The claims of `dichotomy/` fig2a, fig2b and fig2c on curves made by hand: green with the law, red without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from latebloom.catalog import Evidence, Request
from latebloom.catalog.dichotomy import fig2a, fig2b, fig2c, relu_net
from latebloom.catalog.reproduction import judge

DECAY = relu_net.SMALL.weight_decay


class Curve(dict):
    """What the claims read of a run."""

    def __init__(self, transition: float, *, memorised: float = 0.07, decay: float = DECAY, best: float = 1.0):
        slow = np.geomspace(1e-6, 20.0, 400)
        late = 1 / (1 + (transition / slow) ** 6)
        fitted = best * (slow > memorised)
        super().__init__(
            slow_time=slow,
            step=slow / decay / relu_net.LEARNING_RATE,
            train_error=1 - fitted,
            test_error=1 - best * late,
            l2_norm=30 * (1 + np.exp(-slow)),
        )
        self.milestones = SimpleNamespace(memorised=SimpleNamespace(time=memorised / decay))
        self.final = {name: float(column[-1]) for name, column in self.items()} | {"kkt_angle": 0.5}
        self.provenance = {"gradients": 5000}


def verdicts(module: Any, runs: Any) -> dict[str, bool]:
    evidence = Evidence(Request(0), {}, runs, {})
    return {claim.id: judge(claim, [evidence]).holds for claim in module.CLAIMS}


def test_a_curve_that_groks_and_one_that_does_not():
    names = (fig2a.MAIN, fig2a.TIGHT)
    documented = {claim.id: claim.documented for claim in fig2a.CLAIMS}
    assert verdicts(fig2a, {name: Curve(2.4) for name in names}) == documented
    never = verdicts(fig2a, {name: Curve(1e3) for name in names})
    red = {"later", "generalises", "sudden", "tolerance-is-enough"}
    assert {name for name, holds in never.items() if holds != documented[name]} == red
    at_once = verdicts(fig2a, {name: Curve(0.03) for name in names})
    assert not at_once["guesses-first"]
    assert not at_once["later"]
    assert not verdicts(fig2a, {fig2a.MAIN: Curve(2.4), fig2a.TIGHT: Curve(3.2)})["tolerance-is-enough"]


@pytest.mark.parametrize(("growth", "delays", "straight"), [(1.0, True, True), (0.0, False, False)])
def test_the_law_of_the_initial_scale(growth, delays, straight):
    """Closed form: transitions at λt = growth · log α + 2."""
    runs = {fig2b.name_of(scale): Curve(2 + growth * np.log(scale)) for scale in fig2b.SCALES}
    found = verdicts(fig2b, runs)
    assert (found["larger-scale-delays"], found["slope-one"]) == (delays, straight)
    assert not found["weights-only-shrink"]  # a norm that does not decay as e^{-λt}


def test_the_law_of_weight_decay():
    """Closed form: transitions at λt = 2, so that steps are exactly as 1/λ; then at one step for all λ."""
    decays = fig2c.decays(Request(0))
    collapsed = Curve(2.0, decay=decays[-1], best=0.3)
    collapsed["train_error"][-1] = 0.96
    sound = {fig2c.name_of(decay): Curve(2.0, decay=decay) for decay in decays[:-1]}
    found = verdicts(fig2c, sound | {fig2c.name_of(decays[-1]): collapsed})
    assert found["inverse-law"]
    assert not found["nearly-inverse"]
    assert found["less-weight-decay-is-later"]
    assert found["collapses"]
    assert not found["slow-time-grows"]
    same = {fig2c.name_of(decay): Curve(2e4 * decay, decay=decay) for decay in decays}
    found = verdicts(fig2c, same)
    assert not any(found[name] for name in ("inverse-law", "nearly-inverse", "collapses"))
