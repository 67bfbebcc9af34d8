"""Laws of the probes, over the whole table of cases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import PROBES, Mute, ProbeCase, without_a_case
from plain import moved

import latebloom as lb
from latebloom.errors import CapabilityError
from latebloom.probes import ALWAYS, AbstractProbe

CASES = pytest.mark.parametrize("case", PROBES, ids=str)
PROBLEMS = {id(case.problem): case.problem for case in PROBES}

measure_of = jax.jit(lambda probe, problem, penalty, params: probe.measure(problem, penalty, params))


def test_every_probe_has_a_case():
    records = [case.probe for case in PROBES]
    assert not (sentence := without_a_case(AbstractProbe, records, "tests/cases/probes.py")), sentence


@CASES
def test_a_value_has_its_shape_and_is_finite(case: ProbeCase):
    case.probe.check(case.problem, case.penalty)
    for params in (case.problem.init(), moved(case.problem.init())):
        found = measure_of(case.probe, case.problem, case.penalty, params)
        assert found.shape == case.shape
        assert np.isfinite(found).all()


@CASES
def test_where_there_is_nothing_to_measure_it_says_so(case: ProbeCase):
    if case.anywhere:
        case.probe.check(Mute(), case.penalty)
    else:
        with pytest.raises(CapabilityError, match=rf"^{type(case.probe).__name__}\b.*: "):
            case.probe.check(Mute(), case.penalty)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.name())
def test_a_column_of_a_run_is_measured_at_its_parameters(problem):
    """Every number of the last record is its probe at `run.params`, not at a neighbouring iterate."""
    penalty, cases = lb.L2(1e-2), [case for case in PROBES if case.problem is problem]
    more = [case for case in cases if case.probe not in ALWAYS]
    run = lb.train(problem, lb.GradientDescent(1e-3), penalty, steps=40, probes=[case.probe for case in more])
    params = jax.tree.map(jnp.asarray, run.params)
    for probe in ALWAYS:
        expected = measure_of(probe, problem, penalty, params)
        np.testing.assert_allclose(run[probe.column][-1], expected, rtol=1e-9, atol=1e-12, err_msg=probe.column)
    for case in more:
        assert run[case.probe.column].shape == (len(run["step"]), *case.shape)
        expected = measure_of(case.probe, problem, penalty, params)
        np.testing.assert_allclose(run[case.probe.column][-1], expected, rtol=1e-9, atol=1e-12, err_msg=str(case))
    assert set(run.columns) == {"step", "time", "slow_time"} | {probe.column for probe in ALWAYS} | {
        case.probe.column for case in more
    }
