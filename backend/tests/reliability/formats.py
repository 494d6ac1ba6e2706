"""Indexes that earlier versions wrote, one for each format of the catalog: `golden/formats/<format>.tar.gz` holds a
library of four documents and its index (catalog, keyword index, embedding cache), embedded with the tests' embedder."""

from __future__ import annotations

from pathlib import Path

FORMATS = Path(__file__).resolve().parents[1] / "golden" / "formats"
PAGES = {
    "ray/core/tasks.md": "# Tasks\n\nA task is a function that runs elsewhere, like a wombat.\n",
    "ray/serve/models.md": "# Models\n\nThe ocelot answers.\n\n## Limit\n\nAt most ten.\n",
    "moon/core/start.md": "---\ntags: [first]\n---\n# Start\n\nBegin here: the capybara shows the way.\n",
    "mail/inbox/one.eml": "From: a@example.org\nTo: b@example.org\nSubject: Axolotl\n"
    "Date: Mon, 02 Mar 2026 10:00:00 +0100\nMessage-ID: <1@example.org>\n\nThe axolotl is late.\n",
}
