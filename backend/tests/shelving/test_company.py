"""One process's own turns at the vector stores.

* Who compares the stores waits for a batch that is stored and not yet marked.
* Who holds a turn may take another within it.
"""

from __future__ import annotations

import threading

from librarian.shelving.company import Nobody


def test_who_compares_waits_for_a_batch_that_is_being_stored() -> None:
    company, begun = Nobody(), threading.Event()
    order: list[str] = []

    def compare() -> None:
        begun.set()
        with company.alone():
            order.append("compared")

    thread = threading.Thread(target=compare)
    with company.storing(), company.storing():
        thread.start()
        assert begun.wait(60)
        thread.join(0.05)
        order.append("marked")
    thread.join(60)
    assert order == ["marked", "compared"]
