"""The page "What a model sees": it shows the calls that its script makes, in the script's order."""

from __future__ import annotations

import importlib

import pytest

from .blocks import REPOSITORY


def test_the_page_has_the_headings_and_calls_of_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    script = importlib.import_module("what_a_model_sees")
    kept = script.structure(script.PAGE.read_text("utf-8"))
    assert [item for item in kept if isinstance(item, dict)] == [step.call for step in script.STEPS]
    made = script.page(lambda step: "## Not a heading\n```json\n{}\n```")
    assert kept == script.structure(made), "run python scripts/what_a_model_sees.py --write"
