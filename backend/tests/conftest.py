"""What holds for all tests."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

# a busy machine draws examples slowly; that says nothing about what is tested
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; read the difference before taking it")


@pytest.fixture(scope="session")
def benchmark() -> Callable[[str], ModuleType]:
    """Imports `benchmarks/{name}.py`: what generates or measures at length is tested on something small."""

    def imported(name: str) -> ModuleType:
        if name not in sys.modules:
            path = Path(__file__).resolve().parents[2] / "benchmarks" / f"{name}.py"
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # dataclasses look for their module there
            spec.loader.exec_module(module)
        return sys.modules[name]

    return imported


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten: `--update`, or UPDATE_GOLDEN=1."""
    return bool(request.config.getoption("--update") or os.environ.get("UPDATE_GOLDEN"))
