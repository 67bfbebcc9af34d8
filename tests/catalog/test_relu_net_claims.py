"""The claims of `dichotomy/` fig2a, fig2b and fig2c on curves made by hand: green with the law, red without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latebloom.catalog import Entry, Evidence
from latebloom.catalog.dichotomy.relu_delays import fig2b, fig2c
from latebloom.catalog.dichotomy.relu_net import DESCENT, MAIN, SMALLER, TIGHT, NetSettings, fig2a
from latebloom.catalog.reproduction import judge

DECAY = 3e-4
NETWORKS = {"descent-follows-flow", "norm-is-no-explanation", "gradient-along-weights-on-average"}  # no curve has them


class Curve(dict):
    """What the claims read of a run."""

    def __init__(self, transition: float, *, memorised: float = 0.07, decay: float = DECAY, best: float = 1.0):
        slow = np.geomspace(1e-6, 20.0, 400)
        late = 1 / (1 + (transition / slow) ** 6)
        fitted = best * (slow > memorised)
        super().__init__(
            slow_time=slow,
            step=slow / decay / NetSettings().learning_rate,
            train_error=1 - fitted,
            test_error=1 - best * late,
            l2_norm=30 * (1 + np.exp(-slow)),
        )
        self.t1: float | None = memorised / decay
        self.final = {name: float(column[-1]) for name, column in self.items()} | {"kkt_angle": 0.5}
        self.provenance = {"gradients": 5000}


def verdicts(entry: Entry, runs: Any, preset: str | None = None) -> dict[str, bool | None]:
    evidence = Evidence(entry.settings, {}, runs)
    return {claim.id: judge(claim.of(preset), [evidence]).holds for claim in entry.claims if claim.id not in NETWORKS}


def test_a_curve_that_groks_and_one_that_does_not():
    names = (MAIN, TIGHT)
    documented = {claim.id: claim.documented for claim in fig2a.claims if claim.id not in NETWORKS}
    assert verdicts(fig2a, {name: Curve(2.4) for name in names}) == documented
    never = verdicts(fig2a, {name: Curve(1e3) for name in names})
    red = {"one-order-later", "generalises", "sudden", "tolerance-is-enough"}
    assert {name for name, holds in never.items() if holds != documented[name]} == red
    at_once = verdicts(fig2a, {name: Curve(0.03) for name in names})
    assert not at_once["guesses-first"]
    assert not at_once["one-order-later"]
    assert not verdicts(fig2a, {MAIN: Curve(2.4), TIGHT: Curve(3.2)})["tolerance-is-enough"]


def test_a_run_that_does_not_memorise_or_takes_as_many_gradients_as_descent_is_red():
    forgetful, costly = Curve(2.4), Curve(2.4)
    forgetful.t1 = None
    costly.provenance["gradients"] = int(costly["step"][-1])
    found = verdicts(fig2a, {MAIN: forgetful, TIGHT: Curve(2.4)})
    assert not any(found[name] for name in ("memorises", "guesses-first", "one-order-later", "tolerance-is-enough"))
    assert not verdicts(fig2a, {MAIN: costly, TIGHT: costly})["few-gradients"]


def test_the_papers_size_has_bounds_of_its_own():
    good = {name: Curve(2.4) for name in (MAIN, TIGHT)}
    assert not verdicts(fig2a, good, "full")["memorises"]
    assert verdicts(fig2a, good | {MAIN: Curve(8.0, memorised=0.6)}, "full")["memorises"]
    nearly = good | {MAIN: Curve(2.4, best=0.97)}
    assert verdicts(fig2a, nearly)["generalises"]
    assert not verdicts(fig2a, nearly, "full")["generalises"]


def test_tolerances_are_checked_at_the_reduced_size_where_that_is_cheaper():
    assert list(fig2a.jobs(fig2a.settings)) == [MAIN, TIGHT, DESCENT]
    small = fig2a.settings.but(modulus=5, width=8)
    assert fig2a.jobs(small)[TIGHT].problem.modulus == 5
    large = fig2a.jobs(small.but(modulus=29, width=256))
    assert list(large) == [MAIN, SMALLER, TIGHT, DESCENT]
    assert {large[name].problem.modulus for name in (SMALLER, TIGHT, DESCENT)} == {23}


@pytest.mark.parametrize(("growth", "delays", "straight"), [(1.0, True, True), (0.0, False, False)])
def test_the_law_of_the_initial_scale(growth, delays, straight):
    """Closed form: transitions at λt = growth · log α + 2."""
    scales = fig2b.settings.values["init_scales"]
    found = verdicts(fig2b, {f"α={scale:g}": Curve(2 + growth * np.log(scale)) for scale in scales})
    assert (found["larger-scale-delays"], found["slope-one"]) == (delays, straight)
    assert not found["weights-only-shrink"]  # a norm that does not decay as e^{-λt}


def test_the_law_of_weight_decay():
    """Closed form: transitions at λt = 2, so that steps are exactly as 1/λ; then at one step for all λ."""
    decays = fig2c.settings.values["weight_decays"]
    collapsed = Curve(2.0, decay=decays[-1], best=0.3)
    collapsed["train_error"][-1] = 0.96
    sound = {f"λ={decay:g}": Curve(2.0, decay=decay) for decay in decays[:-1]}
    found = verdicts(fig2c, sound | {f"λ={decays[-1]:g}": collapsed})
    assert found["inverse-law"]
    assert not found["nearly-inverse"]
    assert found["less-weight-decay-is-later"]
    assert found["collapses"]
    found = verdicts(fig2c, {f"λ={decay:g}": Curve(2e4 * decay, decay=decay) for decay in decays})
    assert not any(found[name] for name in ("inverse-law", "nearly-inverse", "collapses"))
