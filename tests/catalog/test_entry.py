"""The form of an entry: settings, presets, claims by their functions, verdicts by their bounds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog.base import Entry, Evidence, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.claims import Fails, Measured, NotAsked
from latebloom.catalog.reproduction import file_name, judge, reproduce
from latebloom.core.fields import choice, count, flag, number, numbers, text
from latebloom.errors import InputError, LatebloomWarning, UnknownNameError
from latebloom.figures import Axis, Figure, Panel, panels


class SmallSettings(Settings):
    dimension: int = count(default=20, note="n")
    learning_rate: float = number(default=0.1, above=0, note="α")
    strengths: tuple[float, ...] = numbers(default=(1e-3, 1e-4), least=0, note="β")
    steps: int = count(default=500)
    kind: str = choice(("gaussian", "zeros"), default="gaussian", note="the start")
    noisy: bool = flag(default=False)
    data: str = text(default="digits", note="a file")


def small_entry(**more) -> Entry:
    """An entry that takes a tenth of a second."""
    entry = Entry(
        "beyond-l2/small",
        "A small entry",
        "It runs.",
        source="Section 0",
        seconds=1,
        settings=SmallSettings(seed=1),
        **more,
    )

    @entry.runs
    def runs(s):
        problem = lb.problems.SparseRecovery(s.dimension, 2, 12, seed=s.seed)

        def job(strength):
            return lb.TrainJob(problem, lb.GradientDescent(s.learning_rate), lb.L1(strength), steps=s.steps)

        return lb.Grid(job, {"strength": s.strengths}, name="β={strength:g}")

    @entry.claim(at_most(0.5), "train error at the end", full=at_most(1e-9))
    def fits(e):
        """It fits."""
        return e.table(error=lambda run: run.final["train_error"]).error.max()

    @entry.claim(at_least(2), "train error at the end", source="Section 1", fails="it fits", rate=0.9)
    def does_not_fit(e):
        """It does not fit."""
        return e.table(error=lambda run: run.final["train_error"]).error.max()

    @entry.claim(holds("smallest over largest strength at most {most:g}", most=0.5), id="spread-1/10")
    def spread(e, most):
        """The strengths differ."""
        found = e.settings.strengths[1] / e.settings.strengths[0]
        return found, found <= most

    @entry.figure
    def figure(e):
        lines = [panels.curve(run, "train_error", name) for name, run in e.runs.items()]
        return Figure([[Panel(lines, Axis("step"), Axis("train error", "log"))]])

    return entry


def test_settings_are_read_as_one_types_them():
    typed = {"dimension": "30", "learning_rate": "5e-2", "strengths": "1e-5,2e-5", "noisy": "true", "data": "2"}
    s = SmallSettings().but(**typed, kind="zeros")
    assert (s.dimension, s.learning_rate, s.strengths, s.noisy, s.data) == (30, 0.05, (1e-5, 2e-5), True, "2")
    assert SmallSettings().but(strengths="(1e-5 2e-5)").strengths == s.strengths
    assert SmallSettings().but(strengths="1e-5").strengths == (1e-5,)
    assert s.changed(SmallSettings()).keys() == {*typed, "kind"}
    again = SmallSettings().but(**dict(item.split("=") for item in s.text.split()))
    assert again == s
    assert pickle.loads(pickle.dumps(s)) == s


REFUSED = [
    ({"dimension": "2.5"}, "dimension must be a whole number"),
    ({"dimension": "many"}, "dimension must be a number"),
    ({"learning_rate": "-1"}, "learning_rate must be finite and above 0"),
    ({"learning_rate": "nan"}, "learning_rate must be finite and above 0"),
    ({"strengths": "1e-5,-1"}, "strengths must be finite and at least 0"),
    ({"kind": "gausian"}, "did you mean 'gaussian'"),
    ({"noisy": "perhaps"}, "noisy must be true or false"),
    ({"seed": "-1"}, "seed"),
    ({"learnig_rate": "1"}, "unknown setting 'learnig_rate': did you mean 'learning_rate'"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_a_setting_that_cannot_be_is_refused_by_its_field(given, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        SmallSettings().but(**given)


def test_an_entry_names_itself_in_the_refusal():
    with pytest.raises(UnknownNameError, match="unknown setting of beyond-l2/small 'rate'"):
        small_entry().configured({"rate": 1})


def test_a_preset_is_settings_and_any_draw_of_them():
    entry = small_entry(full={"dimension": 40, "steps": 1000})
    assert entry.preset(entry.settings) == "default"
    assert entry.preset(entry.settings.but(seed=7)) == "default"
    assert entry.preset(entry.configured({}, full=True)) == "full"
    assert entry.preset(entry.configured({"steps": 1000})) is None
    assert entry.preset(entry.configured({"dimension": "40", "steps": "1000"})) == "full"


def test_a_report_with_the_documented_settings(tmp_path):
    report = reproduce(small_entry(), store=tmp_path / "store", out=tmp_path)
    assert {v.claim.id: (v.holds, v.documented) for v in report.verdicts} == {
        "fits": (True, True),
        "does-not-fit": (False, False),
        "spread-1/10": (True, True),
    }
    assert report.as_documented
    told = report.to_json()
    assert told["set"] == {}
    assert told["settings"]["strengths"] == [1e-3, 1e-4]
    assert told["claims"][1]["expected"] == "train error at the end at least 2; fails: it fits"
    assert [path.name for path in report.figures] == [f"beyond-l2-small.{kind}" for kind in ("png", "pdf", "csv")]


def test_a_verdict_belongs_to_the_documented_settings(tmp_path):
    entry = small_entry()
    report = reproduce(entry, store=tmp_path / "store", out=tmp_path, learning_rate="0.05", strengths=(1e-3,))
    assert all(verdict.documented is None for verdict in report.verdicts)
    assert report.as_documented, "nothing is documented here, and no run broke down"
    last = report.verdicts[-1]
    assert not last.holds
    assert last.measured.startswith("not measurable with these settings (IndexError")
    assert report.to_json()["set"] == {"learning_rate": 0.05, "strengths": [1e-3]}
    assert report.figures[0].name == "beyond-l2-small-learning_rate=0.05-strengths=0.001.png"
    with pytest.raises(IndexError):
        judge(entry.claims[-1], report.evidence)
    with pytest.warns(LatebloomWarning, match="the run will diverge"):
        assert not reproduce(entry, store=tmp_path / "store", learning_rate=50.0).as_documented, "its runs diverge"


def test_a_study_is_not_served_for_other_settings(tmp_path):
    entry = small_entry()

    @entry.studies
    def studies(s):  # an identity that forgets what it depends on
        return [Study("square", {"experiment": entry.id}, lambda: {"square": np.array([s.steps**2.0])})]

    squares = [
        reproduce(entry, store=tmp_path / "store", **changes).evidence[0].tables["square"]["square"].tolist()
        for changes in ({}, {"steps": 200}, {"steps": 300}, {})
    ]
    assert squares == [[250_000.0], [40_000.0], [90_000.0], [250_000.0]]


def test_a_wrong_verdict_is_not_as_documented(tmp_path):
    entry = small_entry()
    report = reproduce(entry, store=tmp_path / "store")
    wrong = [judge(claim, report.evidence) for claim in entry.claims]
    assert all(verdict.as_documented for verdict in wrong)
    turned = Entry("beyond-l2/turned", "", "", source="", seconds=1, settings=entry.settings)
    turned.runs(entry.parts["runs"])
    turned.claim(at_most(0.5), fails="it should not")(entry.claims[0].measure)
    turned.claim(at_most(0.5), id="right")(entry.claims[0].measure)
    assert not reproduce(turned, store=tmp_path / "store").as_documented, "one wrong verdict of two"


def test_a_sentence_that_holds_in_most_draws_does_not_fail():
    """A claim documented to fail holds if it held in half of the draws, whatever its rate."""
    outcomes = iter([0.5, 0.5, 2.0, 0.5, 2.0])
    entry = Entry("a/b", "", "", source="", seconds=1, settings=Settings())
    entry.claim(at_most(1), id="one", text="One.", fails="it should not", rate=0.9)(lambda e: next(outcomes))
    verdict = judge(entry.claims[0], [Evidence(Settings(), {}, {})] * 5)
    assert (verdict.held, verdict.of, verdict.holds) == (3, 5, True)
    assert not verdict.as_documented


def test_full_has_its_own_bounds_and_verdicts():
    claim = small_entry().claims[0]
    assert claim.of("default") is claim
    assert claim.of(None) is claim
    assert claim.of("full").expected == "train error at the end at most 1e-09"
    entry = small_entry()

    def share(e):
        """A share."""
        return 0.5

    entry.claim(within(0, 1), "share", full=Fails("too large there"))(share)
    late = entry.claims[-1]
    assert late.documented
    assert not late.of("full").documented
    assert late.of("full").expected == "share between 0 and 1; fails: too large there"
    assert late.to_json()["full"]["documented"] is False


def test_slips_in_an_entry_are_found_when_it_is_written():
    entry = small_entry()
    with pytest.raises(TypeError, match="has its runs already"):
        entry.runs(lambda s: {})
    with pytest.raises(TypeError, match="two claims called fits"):
        entry.claim(at_most(1), id="fits", text="again")(lambda e: 0)
    with pytest.raises(TypeError, match="give it a docstring"):
        entry.claim(at_most(1), id="silent")(lambda e: 0)


@pytest.mark.parametrize(
    ("bound", "measure", "found"),
    [
        (at_most(1), lambda e: 0.5, Measured(0.5, True)),
        (at_most(1), lambda e: None, Measured(None, False)),
        (at_most(1), lambda e: NotAsked("not recoverable"), Measured("not recoverable", None)),
        (each(at_most(1)), lambda e: {"a": 0.5, "b": 2}, Measured({"a": 0.5, "b": 2}, False)),
        (holds("{most:g}", most=1), lambda e, most: (0.5, most == 1), Measured(0.5, True)),
        (holds("{most:g}", most=1), lambda e, most: NotAsked("elsewhere"), Measured("elsewhere", None)),
    ],
)
def test_what_a_measure_may_return(bound, measure, found):
    entry = Entry("a/b", "", "", source="", seconds=1, settings=Settings())
    entry.claim(bound, id="one", text="One.")(measure)
    assert entry.claims[0].check(Evidence(Settings(), {}, {})) == found


def test_a_measure_serves_several_entries_and_stays_itself():
    one, two = (Entry(f"a/{name}", "", "", source=name, seconds=1, settings=Settings()) for name in ("x", "y"))

    @one.claim(at_most(1))
    @two.claim(at_most(2), id="other", text="Another.", source="elsewhere")
    def small_share(e):
        """It is
        small."""
        return 1.5

    assert small_share(None) == 1.5
    (first,), (second,) = one.claims, two.claims
    assert (first.id, first.text, first.source) == ("small-share", "It is small.", "x")
    assert (second.id, second.text, second.source) == ("other", "Another.", "elsewhere")
    empty = Evidence(Settings(), {}, {})
    assert [first.check(empty).holds, second.check(empty).holds] == [False, True]


def test_cached_computes_once_for_equal_records():
    calls = []

    def costly(problem):
        calls.append(problem)
        return len(calls)

    evidence = Evidence(Settings(), {}, {})
    first, second = (lb.problems.SparseRecovery(20, 2, 12, seed=3) for _ in range(2))
    assert evidence.cached(costly, first) == evidence.cached(costly, second) == 1
    assert evidence.cached(costly, first.but(seed=4)) == 2


def test_figures_of_different_settings_have_different_names():
    entry = small_entry(full={"dimension": 40})
    given = ("a.npz", "d1/a.npz", "d2/a.npz", "x/d1/a.npz", "/d1/a.npz", "../a.npz", "d1_a.npz", "d1 a.npz", "ä.npz")
    given += ("long/" * 50 + "a.npz", "longer/" * 50 + "a.npz", "a" * 200, "a" * 201, "\udce9.npz")
    names = [file_name(entry, entry.settings.but(seed=10**6, data=path)) for path in given]
    assert len(set(names)) == len(given)
    assert all(len(name) <= 80 and name.isascii() and "/" not in name and " " not in name for name in names)
    assert names[0] == "beyond-l2-small-seed1000000-data=a.npz"
    assert file_name(entry, entry.settings) == "beyond-l2-small"
    assert file_name(entry, entry.configured({"seed": 3}, full=True)) == "beyond-l2-small-seed3-full"
