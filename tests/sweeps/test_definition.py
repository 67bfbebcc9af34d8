"""A sweep as a value and as a file: its cells, their keys, and everything that is refused before anything runs."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

import latebloom as lb
from latebloom.core.spacing import geometric
from latebloom.errors import InputError, LatebloomError
from latebloom.sweeps.survey import survey

ROOT = Path(__file__).parents[2]
PROBLEM = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
JOB = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
TEXT = """name = "t"
kind = "train"
problem = "sparse_recovery[dimension=20,sparsity=2,measurements=12]"
method = "gradient_descent"
penalty = "l1"
steps = "100 / learning_rate"

[axes]
"method.learning_rate" = [0.1, 0.05]
"penalty.strength" = [1e-3]
"problem.seed" = { from = 0, to = 2 }
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(text)
    return path


def test_the_file_of_the_example_is_the_catalogs_law():
    """Its cells are those that one would make by hand, by their keys."""
    sweep = lb.Sweep.from_file(ROOT / "examples" / "rates.toml")
    assert len(sweep) == 180
    assert sweep.axes["method.learning_rate"] == geometric(0.015, 0.15, 6)
    np.testing.assert_allclose(geometric(0.015, 0.15, 6), np.geomspace(0.015, 0.15, 6), rtol=1e-11)
    for number in (0, 7, 179):
        cell = sweep.cell(number)
        rate, strength, seed = cell.values.values()
        by_hand = lb.TrainJob(
            lb.problems.SparseRecovery(measurements=30, seed=seed),
            lb.GradientDescent(rate),
            lb.L1(strength),
            steps=round(0.25 / (rate * strength)),
            stop_at="generalised",
        )
        assert cell.key == by_hand.key


def test_a_sweep_in_python_is_lb_grid_with_the_same_keys():
    axes = {"method.learning_rate": [0.1, 0.05], "problem.seed": range(3), "steps": [10, 20]}
    sweep = lb.Sweep(JOB, axes, name="grid")
    by_hand = lb.grid(JOB, axes)
    assert [cell.name for cell in sweep.cells()] == list(by_hand)
    assert [cell.key for cell in sweep.cells()] == [job.key for job in by_hand.values()]


def test_a_file_a_document_and_python_give_the_same_keys(tmp_path):
    of_file = lb.Sweep.from_file(written(tmp_path, TEXT))
    of_document = lb.Sweep.read(json.loads(json.dumps(of_file.document)))
    axes = {"method.learning_rate": [0.1, 0.05], "penalty.strength": [1e-3], "problem.seed": range(3)}
    in_python = lb.Sweep(JOB, axes, name="t", formulas={"steps": "100 / method.learning_rate"})
    again = lb.Sweep.read(json.loads(json.dumps(in_python.document)))
    keys = [[cell.key for cell in sweep.cells()] for sweep in (of_file, of_document, in_python, again)]
    assert keys[0] == keys[1] == keys[2] == keys[3]
    assert len(set(keys[0])) == 6
    assert of_file == of_document
    assert [cell.job.steps for cell in of_file.cells()] == [1000] * 3 + [2000] * 3


def test_flows_and_slow_flows_have_their_own_fields(tmp_path):
    text = """kind = "flow"
problem = "matrix_completion[shape=(4 4),rank=1,observed=12,depth=2,init_scale=0.3]"
penalty = "l2"
probes = ["singular_values"]
time = "10 / penalty.strength"
rtol = 1e-3
memorised_at = 1e-2
[axes]
"penalty.strength" = [0.1, 0.01]
"""
    sweep = lb.Sweep.from_file(written(tmp_path, text))
    assert sweep.name == "t"  # as the file is called
    job = sweep.cell(1).job
    assert isinstance(job, lb.FlowJob)
    assert (job.time, job.rtol, job.memorised_at, job.penalty) == (1000.0, 1e-3, 1e-2, lb.L2(0.01))
    assert [probe.name() for probe in job.probes] == ["singular_values"]
    slow = lb.Sweep.from_file(
        written(
            tmp_path, text.replace('"flow"', '"slow_flow"').replace('time = "10 / penalty.strength"', "slow_time = 5")
        )
    )
    assert isinstance(slow.cell(0).job, lb.SlowFlowJob)


def test_whole_parts_may_be_axes(tmp_path):
    text = TEXT.replace(
        '"penalty.strength" = [1e-3]', '"penalty" = ["l1", "l2[0.5]", "none"]\n"penalty.strength" = [0.1]'
    )
    sweep = lb.Sweep.from_file(written(tmp_path, text.replace('penalty = "l1"\n', "")))
    found = [sweep.cell(number).job and sweep.cell(number).job.penalty for number in (0, 3, 6)]
    assert found == [lb.L1(0.1), lb.L2(0.1), None]
    assert "no penalty that could have a strength" in sweep.cell(6).why  # impossible, and named
    plain = lb.Sweep(JOB, {"penalty": [lb.L1(0.1), lb.L2(0.1), None]}, name="parts")
    assert [cell.job.penalty for cell in plain.cells()] == [lb.L1(0.1), lb.L2(0.1), None]
    assert [cell.key for cell in lb.Sweep.read(plain.document).cells()] == [cell.key for cell in plain.cells()]


def test_a_seed_that_follows_goes_on_following():
    """The start of a net has the seed of its data, unless it is told another."""
    job = lb.TrainJob(lb.problems.EmbeddingMLP(7, 8, dimension=4, seed=1), lb.GradientDescent(0.1), steps=1)
    made = lb.Sweep(job, {"problem.seed": [3]}, name="seeds").cell(0).job
    assert made == job.but({"problem.seed": 3})
    assert made.problem.init_seed == 3


def test_counts_between_two_are_rounded_and_each_is_there_once():
    sweep = lb.Sweep(JOB, {"problem.measurements": {"from": 2, "to": 6, "count": 9}}, name="counts")
    assert list(sweep.axes["problem.measurements"]) == [2, 3, 4, 5, 6]
    assert isinstance(sweep.cell(0).job.problem.measurements, int)


def test_computed_numbers_do_not_depend_on_the_processor():
    """Twelve digits, so that the last ones of a power are no part of a key."""
    sweep = lb.Sweep(JOB, {"penalty.strength": {"from": 1e-6, "to": 1e-3, "count": 10, "scale": "log"}}, name="a")
    for value in sweep.axes["penalty.strength"]:
        assert float(f"{value:.12g}") == value
    job = lb.FlowJob(lb.problems.MatrixCompletion((4, 4), 1, 12, depth=2), lb.L2(0.1), time=1.0)
    flow = lb.Sweep(job, {"penalty.strength": [0.3]}, name="f", formulas={"time": "exp(1) / strength"})
    assert flow.cell(0).job.time == float(f"{math.e / 0.3:.12g}")


def test_a_cell_of_a_million_is_made_by_itself():
    axes = {"penalty.strength": {"from": 1e-6, "to": 1e-3, "count": 1000}, "problem.seed": range(1000)}
    sweep = lb.Sweep(JOB, axes, name="large")
    sweep.cell(0)
    started = time.perf_counter()
    assert sweep.cell(999_999).values["problem.seed"] == 999
    assert len(sweep) == 10**6
    assert time.perf_counter() - started < 5  # seconds; to make all would take ten minutes


OWN = """
import jax.numpy as jnp
import latebloom as lb

def make_problem(scale, seed=0):
    if scale == 7:
        raise ValueError("seven is too much")
    return lb.problems.LeastSquares(lambda w: jnp.array([scale * w.sum() - 2.0 - seed]), jnp.array([-1.0, 1.0]),
                                    test=lambda w: jnp.abs(w - 1.0).max())
"""


def test_a_function_in_a_file_beside_it_makes_the_problem(tmp_path):
    (tmp_path / "mine_for_a_sweep.py").write_text(OWN)
    text = TEXT.replace("sparse_recovery[dimension=20,sparsity=2,measurements=12]", "mine_for_a_sweep:make_problem")
    text = text.replace("[axes]", "[problem_arguments]\nscale = 2.0\n[axes]").replace("to = 2", "to = 1")
    sweep = lb.Sweep.from_file(written(tmp_path, text))
    job = sweep.cell(1).job
    assert job.problem.known_as == "mine_for_a_sweep:make_problem[scale=2.0,seed=1]"
    assert job.portable
    assert lb.Sweep.read(sweep.document).cell(1).key == sweep.cell(1).key
    other = lb.Sweep.from_file(
        written(tmp_path, text.replace('"problem.seed" = { from = 0, to = 1 }', '"problem.scale" = [7, 8]'))
    )
    assert "make_problem[scale=7] raises ValueError (seven is too much)" in other.cell(0).why
    assert other.cell(1).key is not None
    with pytest.raises(LatebloomError, match=r"line \d+: .* has no argument 'sale': did you mean 'scale'"):
        lb.Sweep.from_file(written(tmp_path, text.replace('"problem.seed"', '"problem.sale"')))
    with pytest.raises(LatebloomError, match=r"unknown function of mine_for_a_sweep 'make': did you mean"):
        lb.Sweep.from_file(written(tmp_path, text.replace(":make_problem", ":make")))
    with pytest.raises(LatebloomError, match=r"cannot load nothing_like_it"):
        lb.Sweep.from_file(written(tmp_path, text.replace("mine_for_a_sweep", "nothing_like_it")))


REFUSED = {
    "a wrong key": (
        "steps =",
        "step =",
        r"^t.toml, line 6: unknown field of a train sweep 'step': did you mean 'steps'",
    ),
    "a field of another kind": ('penalty = "l1"', "time = 3.0", r"line 5: unknown field of a train sweep 'time'"),
    "a wrong kind": ('"train"', '"trian"', r"line 2: unknown kind of run 'trian': did you mean 'train'"),
    "a wrong problem": ('"sparse_recovery[', '"sparse[', r"line 3: unknown problem 'sparse': did you mean"),
    "a wrong parameter": (
        "dimension=20",
        "dimensions=20",
        r"line 3: unknown parameter of sparse_recovery 'dimensions'",
    ),
    "a wrong axis": (
        '"problem.seed"',
        '"problem.sed"',
        r"line 11: unknown parameter of sparse_recovery 'sed': did you",
    ),
    "a short axis": ('"problem.seed"', '"seed"', r"line 11: unknown axis 'seed': did you mean 'problem.seed'"),
    "no values": ("[0.1, 0.05]", "[]", r"line 9: the axis 'method.learning_rate' has no values: give at least one"),
    "NaN": ("[0.1, 0.05]", "[0.1, nan]", r"line 9: the axis 'method.learning_rate' has NaN in place 2"),
    "a value twice": ("[0.1, 0.05]", "[0.1, 0.1]", r"line 9: the axis 'method.learning_rate' has 0.1 twice"),
    "out of range": ("[0.1, 0.05]", "[0.1, -0.05]", r"line 9: learning_rate=-0.05 is not allowed"),
    "a text": ("[0.1, 0.05]", '["fast"]', r"line 9: learning_rate must be a number, not 'fast'"),
    "one value": ("[0.1, 0.05]", "0.1", r"line 9: the axis 'method.learning_rate' is 0.1: give a list"),
    "an empty range": ("to = 2", "to = -1", r"line 11: the axis 'problem.seed' has no values"),
    "half a range": (", to = 2", "", r"line 11: the axis 'problem.seed' has no 'to'"),
    "a wrong word": ("to = 2", "too = 2", r"line 11: unknown part of the axis 'problem.seed' 'too': did you mean 'to'"),
    "a scale": ("to = 2", 'to = 2, count = 3, scale = "log"', r"line 11: .*a logarithmic one needs both above zero"),
    "a wrong scale": ("to = 2", 'to = 2, count = 3, scale = "lin"', r"line 11: unknown scale .* did you mean 'linear'"),
    "ten million": (
        "to = 2",
        "to = 4999999",
        r"line 8: a sweep of 10,000,000 cells: at most 1,000,000; shorten an axis",
    ),
    "far too many": (
        "to = 2",
        "to = 2, count = 10000000",
        r"line 11: .*must be finite and at least 1 and at most 1e\+06",
    ),
    "a formula": ("100 / learning_rate", "100 / rate", r"line 6: unknown axis in '100 / rate' 'rate': did you mean"),
    "code": ("100 / learning_rate", "__import__('os')", r"line 6: .* is not allowed: write|line 6: unknown function"),
    "twice": ('"penalty.strength" = [1e-3]', "steps = [1, 2]", r"line 10: steps is an axis and has a formula|penalty"),
    "decay": (
        'penalty = "l1"',
        "weight_decay = 0.1",
        r"line 5: weight_decay is the strength of a penalty: write penalty",
    ),
    "no TOML": ("[axes]", "[axes", r"^t.toml: .*\(at line 8"),
    "a name": ('"t"', '"../t"', r"line 1: name='../t' is not allowed"),
    "arguments": ("[axes]", "[problem_arguments]\nscale = 2\n[axes]", r"line 8: problem_arguments are for a problem"),
    "no axes": ("[axes]", "[axis]", r"line 8: unknown field of a train sweep 'axis': did you mean 'axes'|needs axes"),
}


@pytest.mark.parametrize(("old", "new", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_in_a_file_is_one_line_with_its_place(tmp_path, old, new, message):
    assert old in TEXT
    with pytest.raises(LatebloomError, match=message) as error:
        lb.Sweep.from_file(written(tmp_path, TEXT.replace(old, new, 1)))
    assert "\n" not in str(error.value)


def test_what_is_missing_is_asked_for(tmp_path):
    with pytest.raises(LatebloomError, match=r"^t.toml: a train sweep needs steps: write steps = …, or an axis of it"):
        lb.Sweep.from_file(written(tmp_path, TEXT.replace('steps = "100 / learning_rate"', "")))
    without = TEXT.replace('method = "gradient_descent"', "").replace('"method.learning_rate" = [0.1, 0.05]', "")
    with pytest.raises(LatebloomError, match=r"^t.toml: a train sweep needs method"):
        lb.Sweep.from_file(written(tmp_path, without.replace('"100 / learning_rate"', "100")))
    with pytest.raises(InputError, match=r"cannot read the sweep '.*nowhere.toml' \(No such file"):
        lb.Sweep.from_file(tmp_path / "nowhere.toml")


def test_an_ambiguous_name_in_a_formula_is_refused():
    job = lb.TrainJob(PROBLEM, lb.LabelNoise(0.1), steps=1)
    axes = {"problem.seed": [1], "method.seed": [2]}
    with pytest.raises(InputError, match=r"seed in '10 \* seed' may be problem.seed or method.seed: write it in full"):
        lb.Sweep(job, axes, name="a", formulas={"steps": "10 * seed"})
    assert lb.Sweep(job, axes, name="a", formulas={"steps": "10 * method.seed"}).cell(0).job.steps == 20


def test_impossible_cells_are_named_once_per_reason():
    sweep = lb.Sweep(JOB, {"problem.sparsity": [2, 30], "problem.seed": range(3)}, name="some")
    seen = survey(sweep)
    assert seen.possible == [0, 1, 2]
    told = seen.tell(strict=False)
    assert told.startswith("3 of 6 cells are impossible: sparsity=30, seed=0 and 2 others (sparsity=30 is more than")
    assert told.endswith("skipped")
    with pytest.raises(InputError, match=r"^3 of 6 cells are impossible: .*leave strict out to skip them$"):
        seen.tell(strict=True)
    with pytest.raises(InputError, match=r"^3 of 3 cells are impossible"):
        survey(lb.Sweep(JOB, {"problem.sparsity": [30, 31, 32]}, name="none")).tell(strict=False)


def test_parts_that_do_not_go_together_are_found_before_anything_runs():
    methods = [lb.GradientDescent(0.1), lb.ProjectedSubgradient(0.1)]
    sweep = lb.Sweep(lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), steps=1), {"method": methods}, name="parts")
    assert "ProjectedSubgradient descends on the penalty alone" in survey(sweep).impossible[1]


def test_a_wrong_call_in_python_is_a_sentence():
    with pytest.raises(InputError, match=r"a sweep varies a TrainJob, FlowJob or SlowFlowJob, not SparseRecovery"):
        lb.Sweep(PROBLEM, {"problem.seed": [1]}, name="a")
    with pytest.raises(InputError, match=r"name='' is not allowed"):
        lb.Sweep(JOB, {"problem.seed": [1]}, name="")
    with pytest.raises(InputError, match=r"unknown parameter of gradient_descent 'step': Known: learning_rate"):
        lb.Sweep(JOB, {"method.step": [1]}, name="a")
    with pytest.raises(InputError, match=r"a sweep needs axes"):
        lb.Sweep(JOB, {}, name="a")
    with pytest.raises(InputError, match=r"cell 3 of 3"):
        lb.Sweep(JOB, {"problem.seed": range(3)}, name="a").values(3)
