"""A Dask cluster with workers in processes of their own, one of which is killed in the middle."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterator

import deadly
import pytest
from plain import same_run

import latebloom as lb
from latebloom.core.threads import rounding_cores
from latebloom.errors import InputError, LatebloomWarning
from latebloom.sweeps.places import dask_cluster
from latebloom.sweeps.places.dask_cluster import DaskCluster, look
from latebloom.sweeps.places.here import Here
from latebloom.sweeps.shards import Done, run_shard

pytestmark = pytest.mark.xdist_group("places")
PATIENCE = 120.0  # seconds after which something that ought to happen has not
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator:
    """Two workers with one thread each; a worker that dies once is one too many for this scheduler."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as local,
    ):
        yield local


def test_with_a_worker_killed_every_bit_is_that_of_one_process(cluster, tmp_path):
    here: list[Done] = []
    Here(1).run(run_shard, deadly.shards(tmp_path / "alone"), here.append, threading.Event())
    made: list[Done] = []
    with DaskCluster(cluster.scheduler_address) as place:
        assert place.workers == 2
        place.run(deadly.dying_once(tmp_path), deadly.shards(tmp_path / "store"), made.append, threading.Event())
    assert (tmp_path / "died").exists()
    made.sort(key=lambda one: one.number)
    assert [(one.ids, one.failed) for one in made] == [(one.ids, {}) for one in here]
    # Of the second shard one run was over: in the store, or waiting for the others of its second.
    assert [one.computed for one in made] in ([2, 2, 1], [2, 3, 1])
    keys = [key for one in made for key in one.ids if key]
    assert all(same_run(lb.load(key, tmp_path / "alone"), lb.load(key, tmp_path / "store")) for key in keys)
    assert len(keys) == 6
    assert not list((tmp_path / "store").glob(".shared-*"))


def test_told_to_stop_workers_save_and_stay(cluster, tmp_path):
    cancel, made = threading.Event(), []
    live = lambda: [run.state for run in lb.Store(tmp_path).runs()] == ["live"] * 2  # noqa: E731

    def wait() -> None:
        end = time.monotonic() + PATIENCE
        while not live() and time.monotonic() < end:
            cancel.wait(0.05)
        cancel.set()

    watch = threading.Thread(target=wait)
    watch.start()
    with distributed.Client(cluster, set_as_default=False) as client, DaskCluster(client) as place:
        cut = ((0,), (1,))
        place.run(run_shard, deadly.shards(tmp_path, sweep=deadly.ENDLESS, cut=cut), made.append, cancel)
        assert len(client.nthreads()) == 2
    watch.join()
    assert [one.interrupted for one in made] == [True, True]
    assert [run.state for run in lb.Store(tmp_path).runs()] == ["partial"] * 2


def test_other_versions_other_folders_and_nobody_are_sentences(cluster, tmp_path, monkeypatch):
    def run() -> None:
        with DaskCluster(cluster.scheduler_address) as place:
            place.run(run_shard, deadly.shards(tmp_path), lambda _: None, threading.Event())

    with monkeypatch.context() as patch:
        patch.setattr(dask_cluster, "__version__", "0.0.9")
        with pytest.raises(InputError, match=r"the worker tcp://\S+ has latebloom \S+ and this process 0\.0\.9: inst"):
            run()
    with monkeypatch.context() as patch:  # what this process calls the folder is another one for the workers
        patch.setattr(dask_cluster, "_named", lambda token: f".elsewhere-{token}")
        with pytest.raises(InputError, match=r"worker tcp://\S+ does not see the store's folder .*: give --store a fo"):
            run()
    with monkeypatch.context() as patch:
        patch.setattr(dask_cluster, "rounding_cores", lambda: 99)
        with pytest.warns(LatebloomWarning, match=rf"counts {rounding_cores()} cores and this machine 99.*PJRT_NPROC"):
            run()
    assert not list(tmp_path.glob(".*-*"))
    monkeypatch.setattr(dask_cluster, "ANSWER", 0.2)
    with pytest.raises(
        InputError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9' .*start one with `dask sch"
    ):
        _ = DaskCluster("tcp://127.0.0.1:9").workers


def test_a_folder_that_is_not_writable_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / ".shared-abc").write_text("abc")
    assert look("abc", [tmp_path]) == ("", rounding_cores())
    assert "does not see the store's folder" in look("other", [tmp_path])[0]

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "unlink", refuse)
    (tmp_path / ".shared-def").write_text("def")
    assert "cannot write in the store's folder" in look("def", [tmp_path])[0]


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"distributed is not installed: pip install 'latebloom\[cluster\]'"):
        _ = DaskCluster("tcp://127.0.0.1:9").workers


def test_an_error_on_a_worker_is_raised_here(cluster, tmp_path):
    with (
        DaskCluster(cluster.scheduler_address) as place,
        pytest.raises(InputError, match=r"shard \d has an error of its own"),
    ):
        place.run(deadly.raises, deadly.shards(tmp_path), lambda _: None, threading.Event())
