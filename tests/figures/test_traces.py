"""Figures as data: what a trace tells, what its drawing shows, and what the files carry."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from latebloom.errors import InputError
from latebloom.figures import Axis, Figure, Heat, Line, Note, Panel, Rule, draw, save
from latebloom.figures.files import write_data
from latebloom.figures.strokes import STYLES, colour_of
from latebloom.figures.text import in_two, typeset, words
from latebloom.figures.traces import MARKS, letters

X = np.array([1.0, 10.0, 100.0])


def panel(*traces, **more) -> Panel:
    return Panel(traces, Axis("step $t$", "log"), Axis(r"error $|a|_1$", "log"), **more)


@pytest.fixture
def figure() -> Figure:
    """Every kind of trace, a panel that spans two rows, one in space, and an empty place."""
    wide = panel(
        Line(X, X**-1.0, r"$\beta$ = 1e-3", "train"),
        Line(X, np.stack([X, 2 * X], axis=1), "pair", shade=0.5, marks="behind"),
        Line(X, X, "points", "cycle 3", "points", error=0.1 * X),
        Rule(20.0, "$t_2$", "test", tag=True),
        Rule(0.1, "level", across="y", to=0.5),
        Note("here", 0.1, 0.9, panel=True, align="right top", boxed=True),
    )
    grid = Panel([Heat([0, 1], [0, 1, 2], np.arange(6).reshape(3, 2), "value", bar=True)], Axis("x"), Axis("y"))
    space = Panel([Line(X, X, "path", z=X)], Axis("x"), Axis("y"), z=Axis("z"), view=(20, 30))
    return Figure([[wide, grid], [wide, space], [None, panel(Line(X, X))]], key=[Line([], [], "shared", "grey")])


def test_panels_are_in_reading_order_and_span_where_they_repeat(figure):
    axes = [axis for axis in draw(figure).axes if axis.get_label() != "<colorbar>"]
    assert len(figure.panels) == len(axes) == 4
    assert [axis.get_ylabel() for axis in axes] == [r"error $|a|_1$", "y", "y", r"error $|a|_1$"]
    assert axes[0].get_xscale() == "log"


def test_what_is_drawn_is_the_data(figure):
    axis = draw(figure).axes[0]
    first, *pair = [line for line in axis.get_lines() if len(line.get_xdata()) == 3][:3]
    assert first.get_xdata().tolist() == X.tolist()
    assert first.get_ydata().tolist() == (X**-1.0).tolist()
    assert [line.get_ydata().tolist() for line in pair] == [X.tolist(), (2 * X).tolist()]
    assert first.get_color() == "#0072B2"
    assert {text.get_text() for text in axis.texts} == {"$t_2$", "here"}
    shown = [text.get_text() for text in axis.get_legend().get_texts()]
    assert shown == [r"$\beta$ = $10^{-3}$", "pair", "points", "level"]  # what was measured first


def test_the_table_has_every_number_and_says_what_it_is(figure, tmp_path):
    data = tmp_path / "all.csv"
    write_data(figure, data)
    with data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first = [row for row in rows if row["series"] == "β = 1e-3"]
    assert [(float(row["x"]), float(row["y"])) for row in first] == [(1.0, 1.0), (10.0, 0.1), (100.0, 0.01)]
    assert {row["y_label"] for row in first} == {"error |a|_1"}
    assert [float(row["y"]) for row in rows if row["series"] == "pair[1]"] == (2 * X).tolist()
    assert [(row["meaning"], row["x"], row["y"]) for row in rows if row["series"] == "t_2"] == [("theory", "20.0", "")]
    assert {row["meaning"] for row in rows if row["trace"] == "band"} == {"guide"}
    assert [row["panel"] for row in rows if row["series"] == "path"] == ["c", "c", "c"]
    assert [row["y"] for row in rows if row["trace"] == "band"] == ["0.1", "0.5"]
    heat = [(float(row["x"]), float(row["y"]), float(row["z"])) for row in rows if row["trace"] == "heat"]
    assert heat == [(0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 3), (0, 2, 4), (1, 2, 5)]
    assert [row["z"] for row in rows if row["series"] == "path"] == ["1.0", "10.0", "100.0"]


def test_pictures_say_where_they_come_from(figure, tmp_path):
    from PIL import Image

    told = {"title": "a/b: title", "settings": "seed=0 learning_rate=0.1", "runs": "abc def", "software": "latebloom 9"}
    picture, paper, _ = save(figure, tmp_path, "told", told)
    kept = Image.open(picture).text
    assert {kept[key] for key in ("Title", "Description", "Source", "Software")} == set(told.values())
    assert b"seed=0 learning_rate=0.1" in paper.read_bytes()
    assert b"abc def" in paper.read_bytes()


def test_a_picture_that_shows_the_same_is_not_drawn_again(tmp_path):
    line, told = Line(X, X), {"title": "a", "runs": "abc", "settings": "λ=1"}
    pictures = save(Figure([[panel(line)]]), tmp_path, "one", told)[:2]

    def redrawn(figure: Figure, told: dict[str, str]) -> list[bool]:
        for path in pictures:
            os.utime(path, (1.0, 1.0))
        save(figure, tmp_path, "one", told)
        return [path.stat().st_mtime != 1.0 for path in pictures]

    assert redrawn(Figure([[panel(line)]]), dict(told)) == [False, False]
    assert redrawn(Figure([[panel(line)]], caption="another"), told) == [True, True]
    assert redrawn(Figure([[panel(replace(line, y=X * (1 + 1e-15)))]]), told) == [True, True]
    assert redrawn(Figure([[panel(replace(line, y=X * (1 + 1e-15)))]]), told | {"runs": "abd"}) == [True, True]
    for path in pictures:
        path.write_bytes(path.read_bytes()[:-40])  # as a full disk leaves it
    assert redrawn(Figure([[panel(replace(line, y=X * (1 + 1e-15)))]]), told | {"runs": "abd"}) == [True, True]


def test_a_page_can_draw_it(figure):
    told = json.loads(json.dumps(figure.to_json(), allow_nan=False))
    assert told["rows"] == [[0, 1], [0, 2], [None, 3]]
    kinds = [trace["kind"] for trace in told["panels"][0]["traces"]]
    assert kinds == ["line", "line", "points", "rule", "band", "note"]
    assert told["panels"][0]["traces"][0]["y"] == [1.0, 0.1, 0.01]
    assert told["panels"][0]["x"] == {"kind": "axis", "label": "step $t$", "scale": "log"}
    assert "z" in told["panels"][2]


def test_what_does_not_have_to_be_seen_does_not_move_the_axes():
    seen = Line(X, X**-1.0, "seen")
    alone = draw(Figure([[panel(seen)]])).axes[0].get_ylim()
    with_theory = panel(Line(X, 1e-9 * X, "theory", "theory", fits=False), seen)
    assert draw(Figure([[with_theory]])).axes[0].get_ylim() == alone
    assert draw(Figure([[panel(Line(X, 1e-9 * X), seen)]])).axes[0].get_ylim() != alone


def test_what_never_happens_is_not_drawn():
    axis = draw(Figure([[panel(Line(X, X), Rule(np.inf, "never"), Rule(np.nan, "unknown"))]])).axes[0]
    assert len(axis.get_lines()) == 1


def test_shades_and_roles_are_colours():
    dark, light = (colour_of(Line(X, X, shade=shade)) for shade in (0.0, 1.0))
    assert sum(dark[:3]) < sum(light[:3])
    assert colour_of(Line(X, X, role="cycle 1")) == colour_of(Line(X, X, role="cycle 9"))


REFUSED = [
    (lambda: Line(X, X[:2]), "3 x and 2 y"),
    (lambda: Line(X, X, role="red"), "unknown role 'red'"),
    (lambda: Line(X, X, marks="theories"), "did you mean 'theory'"),
    (lambda: Rule(1.0, across="z"), "axis of a rule"),
    (lambda: Heat([0, 1], [0, 1], np.zeros((3, 2))), r"shape \(3, 2\)"),
    (lambda: Axis("x", "logarithmic"), "did you mean 'log'"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_slip_is_refused_where_it_is_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        (r"$|\hat a - a^*|_\infty/(\alpha\beta)$", "|â - a^*|_∞/(αβ)"),
        (r"gradient ratio $|G|\,/\,(\beta|H|)$", "gradient ratio |G| / (β|H|)"),
        (r"$\log_{10}$ relative error", "log_10 relative error"),
        (r"norm of $\mathrm{Re}\,F_k$", "norm of Re F_k"),
        (r"$\|\theta\|_2$", "‖θ‖_2"),
        ("accuracy (%)", "accuracy (%)"),
    ],
)
def test_labels_in_words(label, plain):
    assert words(label) == plain


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("λ = 2.0e-06, N = 30", r"$\lambda$ = $2\cdot10^{-6}$, $N$ = 30"),
        (r"$\beta$ = 0.0003", r"$\beta$ = $3\cdot10^{-4}$"),
        (r"$\alpha = 1e-05$", r"$\alpha = 10^{-5}$"),
        ("n1 = n2 = 10, d_h = 32, τ ∈ {0, 1}", r"$n_1$ = $n_2$ = 10, $d_h$ = 32, $\tau$ ∈ {0, 1}"),
        ("1,900 entries at 0.05", "1,900 entries at 0.05"),
        ("a step of 0.00", "a step of 0.00"),
    ],
)
def test_symbols_are_in_italics_and_numbers_are_powers_of_ten(label, shown):
    assert typeset(label) == shown


def test_a_long_label_is_broken_outside_its_formulas():
    assert in_two("distance to the $a b c$") == "distance to\nthe $a b c$"
    assert in_two("$a b c d e f g h$") == "$a b c d e f g h$"


def test_panels_have_letters_in_reading_order():
    assert letters(3) == ["a", "b", "c"]
    assert letters(28)[-2:] == ["aa", "ab"]


def test_one_style_has_one_meaning():
    """Solid is measured, however it is marked; every other style is of one meaning."""
    solid = {marks for marks, style in STYLES.items() if style == "-"}
    assert solid == {"measured", "behind", "moment", "linked"}
    others = [style for marks, style in STYLES.items() if marks not in solid]
    assert len(set(others)) == len(others)
    assert STYLES.keys() == {*MARKS, "moment"} - {"bars"}


def test_what_is_theory_is_dashed_without_being_told():
    assert [Line(X, X, role=role).marks for role in ("train", "theory", "printed")] == ["measured", "theory", "theory"]
    assert Line(X, X, role="theory", marks="points").meaning == "theory"
    rules = Rule(1.0), Rule(1.0, measured=True), Rule(1.0, across="y")
    assert [rule.marks for rule in rules] == ["theory", "moment", "level"]
    assert [rule.meaning for rule in rules] == ["theory", "measured", "guide"]
