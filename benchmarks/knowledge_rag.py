"""What knowledge-rag (PyPI) makes of the same files and questions; run by `rivals.py`, in an environment of its own.

Its own defaults throughout: chunks of 1,000 characters with 200 shared, BM25 and ChromaDB joined by reciprocal ranks
with `hybrid_alpha` 0.3, its tool's default. Two things are set: the embedding model is the others'
(all-MiniLM-L6-v2, fp32), from files that `prepared` lays where its hub client looks for them, and its cross-encoder is
off, since that comes from a model hub alone. `main` knows nothing of Librarian: it runs where only the rival is
installed.

    python -m venv RIVAL && RIVAL/bin/pip install knowledge-rag
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MODEL, HUB = "sentence-transformers/all-MiniLM-L6-v2", "models--Qdrant--all-MiniLM-L6-v2-onnx"
DEEPEST = 50  #: passages asked for; pages by their best one

CONFIG = """
paths: {{documents_dir: {docs}, data_dir: {home}/data, models_cache_dir: {home}/models}}
models:
  embedding: {{model: {model}, dimensions: 384, gpu: "false"}}
  reranker: {{enabled: false}}
search: {{max_results: 100}}
"""


def prepared(home: Path, docs: Path, model: Path) -> None:
    """Its settings and the model's files. `model` is a folder with `model.onnx` (fp32) of `ModelStore`."""
    import onnx

    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(CONFIG.format(docs=docs.resolve(), home=home.resolve(), model=MODEL))
    place = home / "models" / HUB / "snapshots" / "0"
    if place.is_dir():
        return
    place.mkdir(parents=True)
    (home / "models" / HUB / "refs").mkdir()
    (home / "models" / HUB / "refs" / "main").write_text("0")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copyfile(model / name, place / name)
    # It pools by itself: the graph ends where the last layer does.
    graph = onnx.load(str(model / "model.onnx"))
    norms = [node for node in graph.graph.node if node.op_type == "LayerNormalization"]
    last = norms[-1].output[0]
    names = [given.name for given in graph.graph.input]
    onnx.utils.extract_model(str(model / "model.onnx"), str(place / "model.onnx"), names, [last])


def asked(python: Path, home: Path, docs: Path, model: Path, questions: Sequence[str]) -> dict[str, list[str]]:
    """Question → file paths below `docs`, best first."""
    prepared(home, docs, model)
    (home / "questions.json").write_text(json.dumps(list(questions)))
    environment = {**os.environ, "KNOWLEDGE_RAG_DIR": str(home.resolve()), "HF_HUB_OFFLINE": "1"}
    subprocess.run([str(python), __file__, str(home)], check=True, env=environment)
    return dict(json.loads((home / "answers.json").read_text()))


def main() -> None:
    home = Path(sys.argv[1]).resolve()
    from mcp_server.config import config
    from mcp_server.server import KnowledgeOrchestrator

    library = KnowledgeOrchestrator()
    print(library.index_all(), file=sys.stderr)
    root, answers = Path(config.documents_dir).resolve(), {}
    for question in json.loads((home / "questions.json").read_text()):
        found = library.query(question, max_results=DEEPEST, hybrid_alpha=0.3)
        paths = [Path(hit["source"]).resolve().relative_to(root).as_posix() for hit in found]
        answers[question] = list(dict.fromkeys(paths))
    (home / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
