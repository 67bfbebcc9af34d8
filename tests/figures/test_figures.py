"""Figures on disk, and the progress bar."""

from __future__ import annotations

import csv
import time
from dataclasses import replace

import numpy as np
import pytest

import latebloom as lb
from latebloom.core import progress
from latebloom.errors import LatebloomError
from latebloom.figures import overview, panels, save
from latebloom.figures.files import write_data
from latebloom.figures.look import CYCLE


@pytest.fixture(scope="module")
def run():
    problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-4), steps=3000, memorised_at=0.05, generalised_at=0.5)
    return lb.run(job)


def test_any_run_can_be_drawn(run, tmp_path):
    from PIL import Image

    figure = run.plot()
    assert [axis.get_xlabel() for axis in figure.axes] == ["step $t$"] * 2
    assert all(axis.get_ylabel() for axis in figure.axes)
    assert {"$t_1$", "$t_2$"} <= {text.get_text() for text in figure.axes[1].texts}
    assert "gradient" in " ".join(text.get_text() for text in figure.texts)  # the caption says with what method
    figure.savefig(tmp_path / "run.png")
    with Image.open(tmp_path / "run.png") as picture:
        assert picture.width == 2025  # both columns of a paper at 300 dpi


def test_what_projection_leaves_of_the_training_error_is_no_curve(run):
    columns = run.columns | {"slow_time": 1e-5 * run["step"], "train_error": np.full(len(run["step"]), 1e-7)}
    slow = replace(run, configuration=run.configuration | {"kind": "slow_flow"}, columns=columns)
    left = overview(slow).panels[0].traces
    assert [trace.label for trace in left if trace.kind == "line"] == ["test error"]
    assert any(trace.label.startswith("train error: at most") for trace in left)


def test_save_writes_picture_paper_and_data(run, tmp_path):
    paths = save(overview(run), tmp_path / "deep" / "folder", "run")
    assert [path.name for path in paths] == ["run.png", "run.pdf", "run.csv"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"%PDF")
    assert sorted(path.name for path in (tmp_path / "deep" / "folder").iterdir()) == ["run.csv", "run.pdf", "run.png"]


def test_the_data_beside_the_picture_is_what_was_recorded(run, tmp_path):
    data = tmp_path / "run.csv"
    write_data(overview(run), data)
    with data.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["series"] == "train error"]
    assert [float(row["x"]) for row in rows] == run["step"].tolist()
    assert [float(row["y"]) for row in rows] == run["train_error"].tolist()


def test_a_folder_that_cannot_be_made_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LatebloomError, match="choose another with --out DIR"):
        save(overview(run), tmp_path / "file" / "out", "run")


def test_colours_are_distinct_in_brightness_or_hue():
    """Okabe and Ito's palette: no two colours closer than 0.2 in RGB."""
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in CYCLE])
    gaps = np.linalg.norm(rgb[:, None] - rgb[None], axis=-1)[np.triu_indices(len(rgb), 1)]
    assert gaps.min() > 0.2


def test_no_bar_where_nobody_looks(capsys):
    """Silent when stderr is not a terminal, as under pytest."""
    with progress.ProgressBar("work", 10) as bar:
        bar._started -= 10
        bar.update(5)
    assert capsys.readouterr().err == ""


def test_no_bar_for_what_is_quick(capsys):
    with progress.ProgressBar("work", 10, enabled=True) as bar:
        bar.update(5)
    assert capsys.readouterr().err == ""


def test_a_bar_with_the_share_done_for_what_takes_long(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    with progress.ProgressBar("slow work", 10, enabled=True) as bar:
        bar._started = time.monotonic() - 10
        bar.update(5)
        time.sleep(0.2)
    shown = capsys.readouterr()
    assert "slow work" in shown.err
    assert "50%" in shown.err
    assert shown.out == ""


def test_tracked_gives_every_item():
    assert list(progress.tracked([3, 1, 2], "items")) == [3, 1, 2]


def test_a_dual_flow_is_drawn_with_the_norm_it_has():
    data = lb.problems.SparseSigns(dimension=20, samples=5)
    problem = lb.problems.DiagonalClassifier(data, init_scale=0.3)
    axes = lb.flow(problem, solver="dual", weight_decay=1e-3, time=3.0, progress=False).plot().axes
    assert len(axes[1].lines[0].get_xdata()) > 10


def test_shades_of_a_family_go_from_dark_to_light():
    assert [panels.shade_of(place, 3) for place in range(3)] == [0.0, 0.5, 1.0]
    assert panels.shade_of(0, 1) == 0.0
