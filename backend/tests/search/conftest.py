from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from librarian.embeddings.base import Embedder

from .library import Library

MANUAL = {
    "shop/api/deploy.md": "# Deploying\n\nHow to deploy the shop. Run `shop_ctl rollout` to release a version.\n\n"
    "## Rolling back\n\nTo undo a release, deploy the version before it. The flag `--to-revision=2` names it.\n",
    "shop/api/scaling.md": "# Scaling\n\nMore replicas carry more capacity. Set `max_replicas` in the settings.\n\n"
    "## Autoscaling\n\nAutoscaling watches the load and changes the number of replicas.\n",
    "shop/ops/secrets.md": "---\ntags: [security]\nupdated: 2024-05-01\n---\n# Secrets\n\nA secret holds a password or "
    "a token. Rotate each credential every month.\n",
    "shop/ops/storage.md": "# Storage\n\nA volume keeps data on disk. Use `volume.mount` to persist files.\n\n"
    "| option | meaning |\n|---|---|\n| size | how big the disk is |\n| class | how fast the disk is |\n",
    "till/guide/logging.md": "# Logging\n\nThe till writes logs to a file. Set the log level with `TILL_LOG_LEVEL`.\n\n"
    "```bash\nexport TILL_LOG_LEVEL=debug\ntill start\n```\n",
    "till/guide/deploy.md": "# Deploying the till\n\nShip the till with the installer. It knows no rollout.\n",
}


@pytest.fixture
def shelve(tmp_path: Path) -> Iterator[Callable[..., Library]]:
    """A factory of libraries, closed at the end."""
    made: list[Library] = []

    def make(files: Mapping[str, str] = MANUAL, *, embed: bool = True, embedder: Embedder | None = None) -> Library:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Library(folder, files, embed=embed, embedder=embedder))
        return made[-1]

    yield make
    for library in made:
        library.close()


@pytest.fixture
def manual(shelve: Callable[..., Library]) -> Library:
    """Six pages about two products."""
    return shelve()
