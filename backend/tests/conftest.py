"""What holds for all tests."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

# a busy machine draws examples slowly; that says nothing about what is tested
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# no test speaks TLS, but each of httpx's clients loads all authorities: 25 ms of the processor at each question asked
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull


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
