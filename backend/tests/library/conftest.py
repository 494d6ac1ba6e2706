"""A small library with everything real but its documents: catalog, keyword index, model, children, watcher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.bootstrap import Librarian
from librarian.embeddings.model_files import ModelStore

FILES = {
    "shop/api/tokens.md": """---
title: Access tokens
tags: [security, api]
updated: 2026-02-03
---
# Access tokens

Every call carries a bearer token in its header.

## Rotating a token

Create a second token, move your callers over, then revoke the old one with `shopctl token revoke --id ID`.

| field | meaning |
|---|---|
| `max_age_s` | seconds until a token expires |
| `scope` | what it may do |
""",
    "shop/guides/checkout.md": """# Checkout

Customers pay at the end of the checkout. When a payment is declined, error E4021 is shown and the cart is kept.

```python
cart = Cart.load(cart_id)
cart.checkout(retry_declined=True)
```
""",
    "shop/guides/returns.md": """# Returns

Goods may be sent back within thirty days. Refunds go to the original card.
""",
    "billing/invoices/numbering.md": """# Invoice numbers

Numbers rise without gaps. The prefix is set by `invoice.prefix`.
""",
    "billing/invoices/dunning.txt": "Dunning\n=======\n\nReminders go out after fourteen days, then after thirty.\n",
    "billing/overview.md": "# Billing\n\nBilling turns orders into invoices and watches what is paid.\n",
    "mail/support/0001.eml": (
        "From: Ada Lovelace <ada@example.org>\nTo: team@example.org\nSubject: Refund for order 17\n"
        "Date: Mon, 02 Mar 2026 10:00:00 +0100\nMessage-ID: <one@example.org>\n\n"
        "The customer wants the refund for order 17 on another card. Is that possible?\n"
    ),
    "mail/support/0002.eml": (
        "From: Bob <bob@example.org>\nTo: Ada Lovelace <ada@example.org>\nSubject: Re: Refund for order 17\n"
        "Date: Tue, 03 Mar 2026 11:00:00 +0100\nMessage-ID: <two@example.org>\nIn-Reply-To: <one@example.org>\n"
        "References: <one@example.org>\n\nNo: refunds always go to the original card.\n\nBob\n"
    ),
    "loose.md": "# In the root\n\nThis file belongs to no product.\n",
}


def write_library(root: Path) -> Path:
    """The files above, below `root`."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def model() -> str:
    """The default model's name; skips where it isn't installed."""
    name = "all-MiniLM-L6-v2"
    if ModelStore().locate(name) is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    return name


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[Librarian]:
    """The library, read and embedded; watched."""
    folder = tmp_path_factory.mktemp("library")
    config = folder / "config.json"
    config.write_text('{"docs": {"root_path": "docs", "watch_debounce_ms": 50}, "index": {"workers": 1}}')
    write_library(folder / "docs")
    with Librarian.open(config) as opened:
        yield opened
