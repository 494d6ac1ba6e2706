"""The dashboard and the alert rules ask for metrics that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from librarian import __version__
from librarian.web.app import build_app
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture(scope="module")
def metrics() -> Iterator[str]:
    with served(build_app(FakeLibrary())) as url:
        httpx.get(f"{url}/api/search", params={"q": "tokens"}).raise_for_status()
        yield httpx.get(f"{url}/metrics").text


def expressions() -> list[str]:
    rules = yaml.safe_load((DEPLOY / "prometheus-alerts.yml").read_text("utf-8"))
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
    alerts = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return [*alerts, *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])]


def test_what_the_dashboard_and_the_alerts_show_is_measured(metrics: str) -> None:
    asked = {name for each in expressions() for name in re.findall(r"\b(?:librarian|process)_[a-z_]+", each)}
    served_names = set(re.findall(r"^([a-z_]+)[{ ]", metrics, re.MULTILINE))
    assert len(asked) > 10
    assert asked <= served_names


def test_the_build_is_told(metrics: str) -> None:
    assert re.search(rf'^librarian_build_info{{.*version="{re.escape(__version__)}"', metrics, re.MULTILINE)
