"""Every route does what /openapi.json says: schemathesis sends what the schemas allow and forbid, and finds nothing.

Two of its checks are left out on purpose: that everything a schema allows is accepted (a product must exist, dates must
be dates, arguments of mails don't go with documents), and that everything it forbids is refused (`"7"` is 7, null is
"not given"; `schemas.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from librarian.library import Librarian
from librarian.web.app import build_app
from tests.api.serving import served
from tests.library.conftest import write_library

pytest.importorskip("schemathesis", reason="schemathesis isn't installed: pip install -r requirements-dev.txt")


@pytest.mark.slow
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    write_library(tmp_path / "docs")
    given = {"embeddings.enabled": False, "index.workers": 1, "docs.watch_for_changes": False}
    with (
        Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **given) as library,
        served(build_app(library)) as url,
    ):
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"),
            *("--phases", "coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--request-timeout", "20"),
            *("--exclude-checks", "positive_data_acceptance,negative_data_rejection", "--continue-on-failure"),
            *("--workers", "1", "--no-color"),  # two threads that parse at once can fail in Python 3.11 itself
        ]
        environment = {**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
