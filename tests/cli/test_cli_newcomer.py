"""A hundred command lines as one types them on the first day: the right exit code, one line of error, no traceback."""

from __future__ import annotations

import json
import shlex

import pytest

TINY = "'sparse_recovery[dimension=10,sparsity=1,measurements=5]' --steps 10"

GOOD = {
    "": "Usage",
    "-h": "Usage",
    "--help": "Usage",
    "--version": "latebloom 0",
    "list": "beyond-l2/fig3",
    "list geometry": "geometry/fig4",
    "list beyond-l2/": "beyond-l2/fig3",
    "list geometry riemannian": "riemannian/fig1",
    "list -h": "PAPER",
    "list --json": '"claim"',
    "list dichotomy --json": "dichotomy/fig2a",
    "show beyond-l2/fig3": "learning_rate",
    "show geometry/fig1 --json": '"claims"',
    "show -h": "Usage",
    "coverage": "statements",
    "coverage blog": "checked",
    "reproduce -h": "--set",
    "reproduce --help": "--set",
    "verify -h": "--controls",
    "run -h": "--method",
    "runs": "Usage",
    "runs -h": "Usage",
    "runs list -h": "Usage",
    "runs list --json": "[",
    "bench -h": "Usage",
    "doctor -h": "Usage",
    "problems": "sparse_recovery",
    "problems --json": '"name"',
    "problems sparse_recovery": "coherence",
    "problems SparseRecovery": "sparse_recovery, in Python lb.problems.SparseRecovery",
    "problems sparse-recovery": "lb.problems.SparseRecovery",
    "problems 'sparse_recovery[seed=3]'": "lb.problems.SparseRecovery",
    "problems least_squares": "lb.problems.LeastSquares(",
    "problems sparse_recovery --json": '"allowed"',
    "methods": "adamw",
    "methods adamw": "decoupled",
    "methods AdamW": "lb.methods.AdamW",
    "methods sgd": "nesterov",
    "methods -h": "Usage",
    "penalties": "nuclear_norm",
    "penalties l1": "above",
    "penalties lp --json": '"p"',
    "probes": "gradient_ratio",
    "probes gradient_ratio": "To paste",
    f"run {TINY}": "finished after 10 steps",
    f"run {TINY} --json": '"finished"',
    f"run {TINY} --method 'adamw[0.001,weight_decay=1.0]'": "finished",
    f"run {TINY} --method 'adam[0.01]' --penalty 'l1[1e-5]' --penalty 'l2[1e-3]'": "finished",
    f"run {TINY} --method 'sgd[0.1,momentum=0.9]' --probe gradient_ratio --penalty 'l1[1e-3]'": "finished",
    "run 'sparse_recovery[10,1,5]' --steps 1e1": "finished after 10 steps",
    "run 'sparse_recovery[10,1,5]' --steps 0": "finished after 0 steps",
    "run 'sparse_recovery[10,1,5]' --steps 10 --stop-at memorised": "10",
}
GOOD["penalties l1"] = "at least 0"

BAD = {
    "lst": "list",
    "help": "No such command",
    "--verbose": "--verbose",
    "list nothing": "unknown paper 'nothing'",
    "list beyond_l2": "did you mean 'beyond-l2'",
    "list --limit 3": "--limit",
    "show": "ID",
    "show fig3": "of which paper? write beyond-l2/fig3, riemannian/fig3, geometry/fig3 or dichotomy/fig3",
    "show fig25": "write beyond-l2/fig25",
    "show beyond-l2": "is a paper",
    "show beyond-l2/fig333": "did you mean 'beyond-l2/fig33'",
    "show beyond-l2/fig3 geometry/fig1": "geometry/fig1",
    "coverage rieman": "did you mean 'riemannian'",
    "reproduce": "ID",
    "reproduce fig3": "of which paper?",
    "reproduce beyond-l2/fig3 --set": "--set",
    "reproduce beyond-l2/fig3 --set steps": "write --set name=value",
    "reproduce beyond-l2/fig3 --set steps=": "write --set name=value",
    "reproduce beyond-l2/fig3 --set stps=3": "did you mean 'steps'",
    "reproduce beyond-l2/fig3 --set steps=1.5": "whole number",
    "reproduce beyond-l2/fig3 --set steps=many": "must be a number",
    "reproduce beyond-l2/fig3 --set learning_rate=-1": "above 0",
    "reproduce beyond-l2/fig3 --set steps=1 --set steps=2": "twice",
    "reproduce beyond-l2/fig4 --set strengths=1e-5,x": "must be a number",
    "reproduce beyond-l2/fig3 --seed 1 --seeds 2": "--seed and --seeds exclude each other",
    "reproduce beyond-l2/fig3 --seed 0 --seeds 2": "--seed and --seeds exclude each other",
    "reproduce beyond-l2/fig3 --seeds 3 --set seed=1": "--set seed and --seeds exclude each other",
    "reproduce beyond-l2/fig3 --seed 3 --set seed=1": "--set seed and --seed exclude each other",
    "reproduce beyond-l2/fig3 --seeds 0": "at least 1",
    "reproduce beyond-l2/fig3 --seed -1": "whole number",
    "reproduce beyond-l2/fig3 --seed 1.5": "'1.5' is not a whole number",
    "reproduce beyond-l2/fig3 --full": "--full changes nothing here",
    "reproduce beyond-l2/fig3 --fullsize": "--fullsize",
    "verify nothing": "unknown experiment",
    "verify --seed 3": "--seed",
    "verify --controls --full": "exclude each other",
    "run": "PROBLEM",
    "run nothing": "unknown problem",
    "run sparse_recovry": "did you mean 'sparse_recovery'",
    "run least_squares": "build it in Python, lb.problems.LeastSquares(residuals, init)",
    "run 'sparse_recovery[sparsty=3]'": "did you mean 'sparsity'",
    "run 'sparse_recovery[sparsity=300]'": "more than dimension",
    "run 'sparse_recovery[sparsity'": "cannot read",
    "run sparse_recovery --steps many": "'many' is not a whole number from 0 on: write e.g. 1000000 or 1e6",
    "run sparse_recovery --steps 1.5": "'1.5' is not a whole number",
    "run sparse_recovery --steps -5": "not a whole number",
    "run sparse_recovery --steps 1e-3": "not a whole number",
    "run sparse_recovery --steps inf": "not a whole number",
    "run sparse_recovery --steps 10 --time 5": "--steps and --time exclude each other",
    "run sparse_recovery --time 10 --slow-time 5": "--time and --slow-time exclude each other",
    "run sparse_recovery --time 10 --method 'adam[0.1]'": "--time integrates a flow, which makes no steps",
    "run sparse_recovery --slow-time 10 --method 'adam[0.1]'": "--slow-time integrates a flow",
    "run sparse_recovery --time soon": "--time",
    "run sparse_recovery --time -1": "time",
    "run sparse_recovery --method adam": "learning_rate",
    "run sparse_recovery --method 'adamm[0.1]'": "did you mean 'adam'",
    "run sparse_recovery --method 'adam[0.1,weight_decay=1]'": "weight_decay",
    "run sparse_recovery --method 'adam[-1]'": "above 0",
    "run sparse_recovery --method 'adam[0.1,b1=1]'": "below 1",
    "run sparse_recovery --method 'sgd[0.1,nesterov=true]'": "give e.g. momentum=0.9",
    "run sparse_recovery --method 'scheduled[adam[1],x]'": "build it in Python",
    "run sparse_recovery --penalty l1": "strength",
    "run sparse_recovery --penalty 'l3[1]'": "did you mean",
    "run sparse_recovery --penalty 'l1[strength=-1]'": "at least 0",
    "run sparse_recovery --probe nothing": "unknown probe",
    "run sparse_recovery --stop-at generalized": "did you mean 'generalised'",
    "run sparse_recovery --memorised-at 0": "memorised_at",
    "runs show": "ID",
    "runs show zzzz": "zzzz",
    "runs delete zzzz": "zzzz",
    "runs nothing": "nothing",
    "bench nothing": "unknown benchmark",
    "problems nothing": "unknown problem",
    "problems sparse_recovry": "did you mean 'sparse_recovery'",
    "methods admw": "did you mean 'adamw'",
    "penalties l": "unknown penalty",
    "probes normm": "did you mean 'norm'",
}


def test_there_are_a_hundred():
    assert len(GOOD) + len(BAD) >= 100


@pytest.mark.parametrize("line", GOOD)
def test_what_is_right_answers(latebloom, line):
    answer = latebloom(*shlex.split(line))
    assert answer.code == 0, answer.err
    assert GOOD[line] in answer.out
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("line", BAD)
def test_what_is_wrong_is_one_line_and_exit_2(latebloom, line):
    answer = latebloom(*shlex.split(line))
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("latebloom: ")
    assert answer.err.count("\n") == 1
    assert BAD[line] in answer.err


@pytest.mark.parametrize("line", ["show fig3", "lst", "run nothing", "reproduce beyond-l2/fig3 --seed x", "problems x"])
def test_a_bad_request_for_json_is_json(latebloom, line):
    answer = latebloom(*shlex.split(line), "--json")
    assert answer.code == 2
    assert json.loads(answer.out) == {"error": answer.err.removeprefix("latebloom: ").strip()}
