"""Boundaries on real runs: against the closed form of where descent diverges, resumed, in two axes, and refused."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import InputError, LatebloomWarning
from latebloom.laws.search import Search
from latebloom.sweeps.boundaries import running
from latebloom.sweeps.boundaries.plan import Plan, scale_of
from latebloom.sweeps.boundaries.result import Boundary, Found, Try

RATES = {"from": 0.1, "to": 1.5, "count": 15}


def job(**problem) -> lb.TrainJob:
    """Descent whose rate decides whether it diverges, and which seed where: a quick question with a random answer."""
    made = lb.problems.SparseRecovery(dimension=10, sparsity=1, measurements=8, **problem)
    return lb.TrainJob(made, lb.GradientDescent(0.1), steps=400)


def rates(**axes) -> lb.Sweep:
    return lb.Sweep(job(), {**axes, "method.learning_rate": RATES}, name="rates")


ASKED = {"along": "learning_rate", "crosses": "outcome is diverged", "seeds": 4}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("boundary") / "store"


@pytest.fixture(scope="module")
def found(store):
    with pytest.warns(LatebloomWarning):
        return lb.boundary(rates(), **ASKED, store=store, oracle=diverges, progress=False)


def largest_rate(problem) -> float:
    """Descent on `|X a - y|²/2` diverges above 2 / σ_max(XᵀX): closed form."""
    return 2 / np.linalg.norm(np.asarray(problem.design), 2) ** 2


def diverges(problem) -> bool:
    """Stands for an oracle: yes or no, of the problem alone."""
    return largest_rate(problem) < 0.5


def test_it_is_where_the_closed_form_has_it(found):
    """The median of 2 / σ² over 200 seeds, in the interval; each run as its own seed's closed form says."""
    limits = [largest_rate(lb.problems.SparseRecovery(10, 1, 8, seed=seed)) for seed in range(200)]
    low, high = found.interval
    assert low < np.median(limits) < high
    frame = found.frame()
    closed = np.array([limits[seed] for seed in frame["seed"]])
    clear = abs(frame["learning_rate"] / closed - 1) > 0.1  # nearer, 400 steps are too few to show it
    assert (frame["crossed"] == (frame["learning_rate"] > closed))[clear].all()
    assert clear.sum() > 12


def test_it_says_so_in_a_sentence_a_table_and_a_document(found):
    assert found.sentence.startswith("outcome is diverged in half of the runs from learning_rate = ")
    assert f"{found.runs} runs in place of the grid's 60" in found.sentence
    assert found.runs == len(found.frame()) == len(set(found.frame()["seed"]))
    told = found.to_json()
    assert told["crossing"] == found.crossing == found.table()["crossing"][0]
    assert told["lines"][0]["why"] == "narrow"
    assert found.runs <= 0.7 * found.grid_runs


def test_nothing_is_computed_twice_and_it_is_the_same(found, store, recwarn):
    again = lb.boundary(rates(), **ASKED, store=store, oracle=diverges, progress=False)
    assert again.computed == 0
    assert again.to_json() | {"computed": 0} == found.to_json() | {"computed": 0}


def test_what_was_stopped_goes_on(found, store, tmp_path, recwarn):
    """Killed after its second round, then called again: the runs of an undisturbed one, none computed twice."""
    rounds = itertools.count()
    whole = running.Rounds._compute

    def killed(self, numbers):
        if next(rounds) == 2:
            raise KeyboardInterrupt
        return whole(self, numbers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.Rounds, "_compute", killed)
        with pytest.raises(KeyboardInterrupt):
            lb.boundary(rates(), **ASKED, store=tmp_path, oracle=diverges, progress=False)
    rest = lb.boundary(rates(), **ASKED, store=tmp_path, oracle=diverges, progress=False)
    assert rest.computed == found.runs - 16
    assert rest.to_json()["ids"] == found.to_json()["ids"]
    assert rest.crossing == found.crossing


def test_two_axes_make_a_phase_diagram(store, recwarn):
    """With a depth or a scale the boundary moves; here with the number of rows, as the closed form says."""
    sweep = rates(**{"problem.measurements": [4, 8]})
    found = lb.boundary(
        sweep, **ASKED, width=0.4, store=store, oracle=diverges, theory="0.1 * problem.measurements", progress=False
    )
    assert [line.value for line in found.lines] == [4, 8]
    for line in found.lines:
        limits = [largest_rate(lb.problems.SparseRecovery(10, 1, line.value, seed=seed)) for seed in range(200)]
        low, high = line.interval
        assert low < np.median(limits) < high
        assert line.theory == pytest.approx(0.1 * line.value)
    table = found.table()
    assert list(table["problem.measurements"]) == [4, 8]
    with pytest.raises(InputError, match="there are 2 boundaries"):
        _ = found.crossing
    labels = [trace.label for trace in found.figure().panels[0].traces]
    assert {"boundary", "theory", "probability"} <= set(labels)
    with mpl.rc_context():
        found.plot()


def test_the_picture_has_the_probability_its_band_and_the_runs(found):
    traces = {trace.label: trace for trace in found.figure().panels[0].traces}
    assert {"probability", "95 %", "runs"} <= set(traces)
    assert "oracle" not in traces  # it knows no rate: its share is the same along the axis
    curve = traces["probability"]
    assert np.interp(0.5, curve.y, curve.x) == pytest.approx(found.crossing, abs=0.1)


def test_an_oracle_has_its_own_crossing_on_the_same_cells(store):
    searches = [Search(range(1, 21), seeds=4) for _ in range(2)]
    tries = tuple(Try(at, f"{at}", {}, at >= 9, at >= 6) for at in range(20) for _ in range(4))
    for one in tries:
        searches[0].tell(one.at, one.crossed)
        searches[1].tell(one.at, bool(one.oracle))
    line = Found(None, searches[0], tries, searches[1], theory=7.5)
    both = Boundary("b", "t2 is reached", "problem.measurements", None, (line,), store)
    assert 9 < both.crossing < 10
    assert line.oracle is not None
    assert 6 < line.oracle[0] < 7
    assert (line.to_json()["oracle_agrees"], line.to_json()["theory"]) == (68, 7.5)
    assert "; the oracle's is at 6." in both.sentence
    assert {"oracle", "theory"} <= {trace.label for trace in both.figure().panels[0].traces}


@pytest.mark.parametrize(("crosses", "word"), [("outcome is diverged", "0"), ("outcome is finished", "all")])
def test_where_all_are_alike_it_says_where_to_look(store, crosses, word):
    sweep = lb.Sweep(job(), {"method.learning_rate": {"from": 0.01, "to": 0.1, "count": 20}}, name="low")
    found = lb.boundary(sweep, along="method.learning_rate", crosses=crosses, store=store, progress=False)
    assert not found.found
    assert np.isnan(found.crossing)
    assert f"in {found.runs if word == 'all' else 0} of {found.runs} runs" in found.sentence
    assert "look below 0.01 or beyond 0.1" in found.sentence
    assert found.to_json()["crossing"] is None
    found.figure()


def test_impossible_values_are_left_out(store, recwarn, capsys):
    sweep = lb.Sweep(job(), {"problem.sparsity": {"from": 1, "to": 14}}, name="too-many")
    found = lb.boundary(
        sweep, along="sparsity", crosses="final_train_error > 2", most_runs=24, store=store, progress=False
    )
    assert found.failed
    assert found.frame()["sparsity"].max() <= 10
    assert "cannot be made, e.g. sparsity=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("axes", "named", "words"),
    [
        ({}, {"along": "rate"}, "unknown axis to search along 'rate'"),
        ({}, {"along": None}, "needs along"),
        ({}, {"along": "problem.seed"}, "unknown axis to search along"),
        ({"penalty": ["l1[1e-3]", "l2[1e-3]", "l1[1e-4]"]}, {"along": "penalty"}, "values that are no numbers"),
        (
            {"steps": [1, 2], "problem.sparsity": [1, 2]},
            {},
            "one axis beside 'method.learning_rate' and the seeds, not",
        ),
        ({}, {"seeds": 0}, "seeds=0 is not allowed"),
        ({}, {"width": -1}, "width=-1 is not allowed"),
        ({}, {"most_runs": 0.5}, "most_runs=0.5 is not allowed"),
        ({}, {"oracle": "basis"}, "did you mean 'basis_pursuit'"),
        ({}, {"theory": "2 *"}, "is no formula"),
        ({}, {"crosses": "t2"}, "is no condition"),
        ({}, {"store": False}, "a boundary keeps its runs"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_runs(axes, named, words, tmp_path):
    with pytest.raises(InputError, match=words):
        lb.boundary(rates(**axes), **{**ASKED, "store": tmp_path, **named})
    assert not list(tmp_path.glob("runs/*"))


def test_theory_speaks_of_parameters(tmp_path, recwarn):
    with pytest.raises(InputError, match=r"'problem.depht', which is no number of the job"):
        lb.boundary(rates(), **ASKED, most_runs=8, theory="problem.depht", store=tmp_path, progress=False)


def test_too_few_values_and_too_many_cells():
    few = lb.Sweep(job(), {"method.learning_rate": [0.1, 0.2]}, name="few")
    with pytest.raises(InputError, match="at least 3 rising values, not 2"):
        Plan(few, along="learning_rate").search()
    long = lb.Sweep(job(), {"steps": {"from": 1, "to": 10_000}}, name="long")
    with pytest.raises(InputError, match="shorten an axis"):
        Plan(long, along="steps")


def test_seeds_are_fresh_and_those_of_the_file_come_first():
    sweep = lb.Sweep(job(), {"method.learning_rate": RATES, "problem.seed": [7, 3]}, name="seeded")
    plan = Plan(sweep, along="learning_rate")
    assert plan.seeds == 2
    assert plan.cells.axes["problem.seed"][:4] == (7, 3, 8, 9)
    line = plan.lines()[0]
    assert plan.cell(line, 2, 1).key == sweep.cell(2 * 2 + 1).key  # a run of the sweep is a run of the boundary


def test_a_file_with_a_wrong_table_says_the_line(tmp_path):
    path = tmp_path / "wrong.toml"
    head = 'kind = "train"\nproblem = "sparse_recovery"\nmethod = "gradient_descent"\nsteps = 10\n[axes]\n'
    axis = '"method.learning_rate" = [0.1, 0.2, 0.3]\n[boundary]\nalong = "method.learning_rate"\n'
    path.write_text(f'{head}{axis}width = "broad"\n')
    with pytest.raises(InputError, match=r"wrong.toml, line 9: width must be a number"):
        lb.boundary(path, store=tmp_path)
    path.write_text(f"{head}{axis}crossing = 3\n")
    with pytest.raises(InputError, match=r"line 9: unknown part of \[boundary\] 'crossing'"):
        lb.boundary(path, store=tmp_path)
    path.write_text(f"boundary = 3\n{head}{axis.partition('[b')[0]}")
    with pytest.raises(InputError, match="is no table"):
        lb.boundary(path, store=tmp_path)


def test_the_scale_of_an_axis_follows_from_its_values():
    assert scale_of([1, 2, 3]) == "linear"
    assert scale_of(list(np.geomspace(1e-6, 1, 7))) == "log"
    assert scale_of([0, 1, 10]) == "linear"
