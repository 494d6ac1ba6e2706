"""What a worker pool promises.

* Every item comes back once, with its result or its error, from one process as from several.
* A late, dying or greedy task is told so and costs nobody else anything.
* Whom others keep from the processor isn't late for that.
* No more items are taken ahead than agreed.
* A factory that fails is nobody's file's fault: `map` raises, and can be tried again.
* Nothing is left behind: not after `close`, not when the parent is killed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from librarian.errors import SourceError, Unavailable
from librarian.indexing.indexer import IndexerOptions
from librarian.indexing.workers import PoolClosed, WorkerDied, WorkerPool
from tests.storage.worker_jobs import Closing, make_death, make_nothing, make_wait, make_work


@pytest.fixture
def pool() -> Iterator[WorkerPool[object, object]]:
    with closing(WorkerPool(make_work, 2, timeout_s=60, memory_mb=200)) as made:
        yield made


@pytest.fixture
def rivals() -> Iterator[None]:
    """Three processes that want to work on the first processor all the time."""
    rival = (
        "import os; parent = os.getppid(); os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "print('busy', flush=True)\nwhile os.getppid() == parent: pass"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", rival], stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"busy\n"
        yield


@pytest.mark.parametrize("processes", [1, 2])
def test_every_item_comes_back_once_with_its_result(processes: int) -> None:
    with closing(WorkerPool(make_work, processes, timeout_s=60)) as pool:
        assert sorted(pool.map(range(50))) == [(n, 2 * n) for n in range(50)]  # type: ignore[type-var]


def test_an_error_of_the_callable_is_the_items_outcome_with_its_reason() -> None:
    with closing(WorkerPool(make_work, 1, timeout_s=60)) as pool:
        outcomes = dict(pool.map(["raise", 4]))
    assert isinstance(outcomes["raise"], SourceError)
    assert outcomes["raise"].reason == "empty"
    assert outcomes[4] == 8


def test_a_task_that_dies_says_how_and_the_others_are_done(pool: WorkerPool[object, object]) -> None:
    outcomes = dict(pool.map([1, "die", 2, "killed", 3]))
    assert [outcomes[n] for n in (1, 2, 3)] == [2, 4, 6]
    assert isinstance(outcomes["die"], WorkerDied)
    assert "code 3" in str(outcomes["die"])
    assert "SIGKILL" in str(outcomes["killed"])


def test_a_task_over_its_time_is_killed_and_its_place_is_taken_by_another_child() -> None:
    with closing(WorkerPool(make_work, 1, timeout_s=0.1)) as pool:
        (_, before), (_, late), (_, after) = pool.map(["pid", ("sleep", 60), "pid"])
        assert isinstance(late, TimeoutError)
        assert before != after


def test_each_item_may_have_a_limit_of_its_own() -> None:
    with closing(WorkerPool(make_work, 1, timeout_s=lambda item: 0.02 if item == 1 else 60)) as pool:
        assert [outcome for _, outcome in pool.map([("sleep", 0.4), 1])] == ["woke", 2]


def test_a_child_that_does_not_get_ready_is_ended() -> None:
    with (
        closing(WorkerPool(make_wait, 1, timeout_s=60, start_timeout_s=0.3)) as pool,
        pytest.raises(WorkerDied, match="while they start"),
    ):
        list(pool.map([1]))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process can't be kept on one processor here")
def test_a_task_that_others_keep_from_the_processor_has_its_time_of_it(rivals: None) -> None:
    with closing(WorkerPool(make_work, 1, timeout_s=0.3, nice=0, cores=1)) as pool:
        (_, starved), (_, greedy) = pool.map([("work", 0.2), ("work", 60)])
    assert starved == "worked"
    assert isinstance(greedy, TimeoutError)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process can't be kept on one processor here")
def test_embedding_gets_half_as_much_of_a_processor_as_another_process_that_wants_all_of_it() -> None:
    rival = "import sys; sys.path.insert(0, '.'); from tests.storage.worker_jobs import share; print(share(4.0))"
    with closing(WorkerPool(make_work, 1, timeout_s=60, nice=IndexerOptions().embedding_nice, cores=1)) as pool:
        assert dict(pool.map([1])) == {1: 2}  # it is started
        folder = Path(__file__).parents[2]
        with subprocess.Popen([sys.executable, "-c", rival], stdout=subprocess.PIPE, cwd=folder, text=True) as process:
            ((_, own),) = pool.map([("share", 4.0)])
            its = float(process.communicate(timeout=60)[0])
    assert isinstance(own, float)
    assert own > 0.5 * its  # a third of both


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_greedy_task_ends_in_memory_error_and_a_modest_one_after_it_works(pool: WorkerPool[object, object]) -> None:
    outcomes = dict(pool.map(["greedy", 5]))
    assert isinstance(outcomes["greedy"], MemoryError)
    assert outcomes[5] == 10


def test_what_cannot_be_sent_is_an_error_of_its_item_alone(pool: WorkerPool[object, object]) -> None:
    outcomes = dict(pool.map(["unsendable", 1]))
    assert isinstance(outcomes["unsendable"], Exception)
    assert outcomes[1] == 2
    ((_, outcome),) = pool.map([lambda: None])
    assert isinstance(outcome, Exception)


@pytest.mark.parametrize(
    ("cost", "room", "ahead"),
    [
        (1, 0, 3),  # three for one child
        (1, 10, 10),
        (4, 10, 3),
        (100, 10, 3),
    ],
)
def test_no_more_items_are_taken_ahead_than_agreed(cost: int, room: int, ahead: int) -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for n in range(100):
            taken.append(n)
            yield n

    with closing(WorkerPool(make_work, 1, timeout_s=60, prefetch=3, cost=lambda _: cost, max_ahead=room)) as pool:
        results = pool.map(source())
        for done in range(1, 11):
            next(results)
            assert len(taken) == done + ahead - 1
        results.close()  # type: ignore[attr-defined]


def test_a_consumer_that_leaves_early_can_map_again(pool: WorkerPool[object, object]) -> None:
    results = pool.map([1, ("sleep", 60), ("sleep", 60), 2])
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert sorted(outcome for _, outcome in pool.map([10, 20])) == [20, 40]  # type: ignore[type-var]


def test_a_factory_that_fails_raises_its_own_error_from_map() -> None:
    factory = functools.partial(make_nothing, "No model here. Run librarian models fetch.")
    with closing(WorkerPool(factory, 1, timeout_s=60)) as pool:
        for _ in range(2):  # not only the first time
            with pytest.raises(Unavailable, match="models fetch"):
                list(pool.map([1, 2]))


def test_idle_children_that_are_killed_cost_no_item() -> None:
    with closing(WorkerPool(make_work, 2, timeout_s=60)) as pool:
        ((_, pid),) = pool.map(["pid"])
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGKILL)
        assert sorted(outcome for _, outcome in pool.map([10, 20])) == [20, 40]  # type: ignore[type-var]


def test_a_child_is_started_although_the_working_directory_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with closing(WorkerPool(make_work, 1, timeout_s=60)) as pool:
        assert list(pool.map([1])) == [(1, 2)]  # type: ignore[comparison-overlap]


def test_a_child_that_dies_while_getting_ready_raises_from_map() -> None:
    with closing(WorkerPool(make_death, 1, timeout_s=60)) as pool, pytest.raises(WorkerDied, match="while they start"):
        list(pool.map([1]))


def test_children_are_nice_and_keep_off_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    with closing(WorkerPool(make_work, 1, timeout_s=60, nice=3)) as pool:
        outcomes = dict(pool.map(["nice", "print"]))
    assert outcomes["nice"] == os.nice(0) + 3
    assert capfd.readouterr().out == ""


def test_ctrl_c_does_not_reach_a_child_that_is_still_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job_in_a_terminal.py").write_text(
        f"import os, signal\nif os.getpid() != {os.getpid()}:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "def make():\n"
        "    return abs\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with closing(WorkerPool(importlib.import_module("job_in_a_terminal").make, 1, timeout_s=60)) as pool:
        assert list(pool.map([-1])) == [(-1, 1)]
    assert capfd.readouterr().err == ""


def test_what_was_opened_in_a_child_is_closed_before_it_ends(tmp_path: Path) -> None:
    with closing(WorkerPool(functools.partial(Closing, str(tmp_path / "closed")), 1, timeout_s=60)) as pool:
        assert list(pool.map([1])) == [(1, 1)]
    assert (tmp_path / "closed").exists()


def test_large_items_and_results_pass_and_many_may_wait(pool: WorkerPool[object, object]) -> None:
    large = [b"x" * 300_000 for _ in range(20)]
    assert [len(outcome) for _, outcome in pool.map(large)] == [300_000] * 20  # type: ignore[arg-type]
    next(iter(pool.map(large)))


def test_one_item_starts_one_process_and_several_start_all(pool: WorkerPool[object, object]) -> None:
    def workers() -> int:
        spawned = [child.cmdline() for child in psutil.Process().children()]
        return sum("spawn_main" in " ".join(words) for words in spawned)

    before = workers()
    list(pool.map(["pid"]))
    assert workers() == before + 1
    list(pool.map(["pid"] * 3))
    assert workers() == before + 2
    list(pool.map(["pid"]))
    assert workers() == before + 2


def test_close_leaves_no_child_and_further_work_starts_another() -> None:
    pool: WorkerPool[object, object] = WorkerPool(make_work, 2, timeout_s=60)
    ((_, pid),) = pool.map(["pid"])
    assert isinstance(pid, int)
    pool.close()
    pool.close()
    assert not psutil.pid_exists(pid)
    assert list(pool.map([1])) == [(1, 2)]
    pool.close()


def test_work_under_way_learns_that_the_pool_was_closed() -> None:
    pool: WorkerPool[object, object] = WorkerPool(make_work, 1, timeout_s=60)

    def items() -> Iterator[object]:
        yield 1
        pool.close()
        yield 2

    with pytest.raises(PoolClosed):
        list(pool.map(items()))


def test_children_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
        import job
        from librarian.indexing.workers import WorkerPool
        if __name__ == "__main__":
            pool = WorkerPool(job.make, 1, timeout_s=600)
            results = pool.map([0, 1])
            print(next(results)[1], flush=True)
            next(results)
        """)
    )
    (tmp_path / "job.py").write_text(
        "import os, time\ndef make(): return work\ndef work(n): return time.sleep(600 * n) or os.getpid()\n"
    )
    backend = Path(__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{backend}{os.pathsep}{tmp_path}"},
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
    _, alive = psutil.wait_procs([child], timeout=120)
    assert not alive
