"""What holds for all tests."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# a busy machine draws examples slowly; that says nothing about what is tested
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# what a developer has configured or trusted is no matter of the tests, and they leave nothing there
_HOME = tempfile.mkdtemp(prefix="librarian-home-")
os.environ |= {"XDG_CONFIG_HOME": f"{_HOME}/config", "XDG_DATA_HOME": f"{_HOME}/data"}


def pytest_sessionfinish() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


# no test speaks TLS, but each of httpx's clients loads all authorities: 25 ms of the processor at each question asked
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull


_MEASURED = 20  #: examples of a drawn test whose lines and branches are counted


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Look for garbage seldom, and end what pytest-cov begins in a worker beside its measuring.

    It would go on wherever the measuring is paused, and the marker `no_cover` would do nothing.
    """
    gc.set_threshold(10_000)
    if hasattr(session.config, "workerinput") and session.config.pluginmanager.hasplugin("_cov"):
        begun = importlib.import_module("coverage").Coverage.current()
        if begun is not None:
            begun.stop()


def pytest_collection_finish() -> None:
    """What is collected stays to the end: looking it through for garbage would take a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count lines in a drawn test's first examples: counting doubles the time, and the rest runs the same lines."""
    plugin = item.config.pluginmanager.getplugin("_cov")
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)  # a state machine has none
    if plugin is None or plugin.cov_controller is None or handle is None:
        return (yield)
    controller, inner, drawn = plugin.cov_controller, handle.inner_test, 0

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal drawn
        drawn += 1
        if drawn == _MEASURED + 1:
            controller.pause()
        return inner(*args, **kwargs)

    handle.inner_test = counted
    try:
        return (yield)
    finally:
        handle.inner_test = inner
        if drawn > _MEASURED:
            controller.resume()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; read the difference before taking it")


@pytest.fixture(scope="session")
def benchmark() -> Iterator[Callable[[str], ModuleType]]:
    """Imports `benchmarks/{name}.py`: what generates or measures at length is tested on something small."""

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
        yield importlib.import_module


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten: `--update`, or UPDATE_GOLDEN=1."""
    return bool(request.config.getoption("--update") or os.environ.get("UPDATE_GOLDEN"))
