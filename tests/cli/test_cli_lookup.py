"""`problems`, `methods`, `penalties`, `probes`: everything is there, and what is shown to paste runs."""

from __future__ import annotations

import shlex
from itertools import pairwise

import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

import latebloom as lb
from latebloom.cli import complete, lookup
from latebloom.cli.app import app
from latebloom.core.record import parse

MEMBERS = [(room, name) for room in lookup.ROOMS for name in lookup.table_of(room)]
OF_FUNCTIONS = {"least_squares", "scheduled"}


@pytest.mark.parametrize(("room", "name"), MEMBERS, ids=[f"{room} {name}" for room, name in MEMBERS])
def test_what_is_shown_to_paste_can_be_built(room, name):
    *commands, python = lookup.examples(room, lookup.table_of(room)[name])
    record = eval(python, {"lb": lb, "jnp": jnp})
    if name in OF_FUNCTIONS:
        assert type(record) is lookup.table_of(room)[name]
        return
    (command,) = (shlex.split(line) for line in commands)
    given = {option: word for option, word in pairwise(command) if option.startswith("--")}
    texts = {"problem": command[2], "penalty": given.get("--penalty"), "probe": given.get("--probe")}
    tables = {"problem": lb.problems.TABLE, "penalty": lb.penalties.TABLE, "probe": lb.probes.TABLE}
    made = {kind: parse(text, tables[kind], kind) for kind, text in texts.items() if text}
    method = parse(given.get("--method", "gradient_descent[0.1]"), lb.methods.TABLE, "method")
    probes = (made["probe"],) if "probe" in made else ()
    job = lb.TrainJob(made["problem"], method, made.get("penalty"), probes=probes, steps=1000)
    job.lane()  # refuses what does not go together
    assert record in (*made.values(), method)


def test_the_card_of_a_class_has_its_fields():
    told = lookup.card("penalties", lb.penalties.Lp)
    assert [(one["name"], one["required"], one["allowed"]) for one in told["parameters"]] == [
        ("strength", True, "finite and at least 0"),
        ("p", False, "finite and above 0 and below 1"),
    ]
    assert all(one["note"] for one in told["parameters"])


@pytest.mark.parametrize("room", lookup.ROOMS)
def test_names_are_completed_from_the_source(room):
    """Without importing the room, which would load JAX."""
    ours = [name for name, cls in lookup.table_of(room).items() if cls.__module__.startswith("latebloom.")]
    assert complete.members(room) == sorted(ours)


def completed(words: str, place: int | None = None) -> list[str]:
    """What bash is told, by the protocol that the installed script speaks."""
    environment = {
        "_LATEBLOOM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1 if place is None else place),
    }
    return CliRunner().invoke(app, [], env=environment, prog_name="latebloom").output.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("latebloom sh", ["show"]),
        ("latebloom show geometry/fig", ["geometry/fig1", "geometry/fig2", "geometry/fig3", "geometry/fig4"]),
        ("latebloom list geo", ["geometry"]),
        ("latebloom coverage bl", ["blog"]),
        ("latebloom reproduce geometry/fig1 riemannian/fi", [f"riemannian/fig{number}" for number in range(1, 5)]),
        ("latebloom verify dich", None),
        ("latebloom reproduce beyond-l2/fig3 --set learn", ["learning_rate="]),
        ("latebloom reproduce nothing --set learn", []),
        ("latebloom run sparse", ["sparse_recovery"]),
        ("latebloom run sparse_recovery --method ad", ["adam", "adamw"]),
        ("latebloom run sparse_recovery --penalty nuc", ["nuclear_norm"]),
        ("latebloom run sparse_recovery --stop-at me", ["memorised"]),
        ("latebloom methods ad", ["adam", "adamw"]),
        ("latebloom bench sl", ["slow-flow"]),
    ],
)
def test_the_shell_completes(words, found):
    answer = completed(words)
    assert answer == found if found is not None else "dichotomy/fig1a" in answer
