"""The plain, careful pipeline, as a rival: what anyone could write in an afternoon with the usual parts.

Chunks by heading, up to 256 tokens, title and heading path in front; stemmed BM25 over any of the words (rank-bm25);
all-MiniLM-L6-v2 int8; reciprocal rank fusion, k = 10, of the passages' ranks; pages by their best passage. It shares
nothing with Librarian but the model's files and the measures.

    python benchmarks/plain.py DOCS QUERIES.jsonl QRELS.tsv --model FOLDER [--product ray]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))

STOP = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be by can do does for from has have how i if in is it its me my not of on or so that the
        their then there this to was we what when where which who why will with you your""",
    )
)
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
UNDERLINE = re.compile(r"^([=\-~^\"'`*+#])\1{2,}\s*$")
TOKENS, K, DEPTH = 256, 10, 200


def sections(text: str) -> Iterator[tuple[list[str], str]]:
    """(heading path, text) of every section, by Markdown's and reStructuredText's headings."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    marks: list[str] = []
    fenced = False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        found = None if fenced else HEADING.match(line)
        if found:
            level, heading = len(found.group(1)), found.group(2)
        elif not fenced and line.strip() and number + 1 < len(lines) and UNDERLINE.match(lines[number + 1]):
            mark = lines[number + 1][0]
            marks += [mark] if mark not in marks else []
            level, heading = marks.index(mark) + 1, line.strip()
        else:
            body.append(line)
            continue
        yield [name for _, name in path], "\n".join(body)
        path = [*((other, name) for other, name in path if other < level), (level, heading)]
        body = []
    yield [name for _, name in path], "\n".join(body)


class Model:
    """MiniLM int8 by onnxruntime."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.session = onnxruntime.InferenceSession(str(next(folder.glob("*int8*.onnx"))))
        self.inputs = {given.name for given in self.session.get_inputs()}

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text).ids)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        encoded = [ids if len(ids) <= TOKENS else [*ids[: TOKENS - 1], ids[-1]] for ids in map(self.ids, texts)]
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
        rows: dict[int, npt.NDArray[np.float32]] = {}
        for start in range(0, len(order), 8):
            batch = order[start : start + 8]
            width = len(encoded[batch[-1]])
            ids = np.array([encoded[place] + [0] * (width - len(encoded[place])) for place in batch], dtype=np.int64)
            mask = np.array([[1] * len(encoded[p]) + [0] * (width - len(encoded[p])) for p in batch], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            out: Any = self.session.run(None, {name: feed[name] for name in self.inputs})[0]
            if out.ndim == 3:
                out = (out * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            for place, row in zip(batch, out / np.linalg.norm(out, axis=1, keepdims=True), strict=True):
                rows[place] = row
        return np.stack([rows[place] for place in range(len(texts))])


class PlainPipeline:
    """Indexes a folder; `search` gives file paths by mode keyword, semantic or hybrid."""

    def __init__(self, docs: Path, model: Model, product: str = "") -> None:
        from rank_bm25 import BM25Okapi
        from Stemmer import Stemmer

        self.stemmer, self.model = Stemmer("english"), model
        self.paths: list[str] = []  #: of each passage's file
        self.texts: list[str] = []  #: of each passage: its headings on one line, then its own lines
        for file in sorted(path for path in (docs / product).rglob("*") if path.is_file()):
            for text in self._chunks(file):
                self.paths.append(file.relative_to(docs).as_posix())
                self.texts.append(text)
        self.bm25 = BM25Okapi([self.words(text) for text in self.texts])
        self.vectors = model.embed(self.texts)

    def words(self, text: str) -> list[str]:
        found = (word for word in re.findall(r"[a-z0-9_]+", text.lower()) if word not in STOP)
        return [str(stem) for stem in self.stemmer.stemWords(list(found))]

    def _chunks(self, file: Path) -> Iterator[str]:
        text = re.sub(r"\A---\n.*?\n---\n", "", file.read_text("utf-8", errors="replace"), flags=re.DOTALL)
        empty, prefix = True, ""
        for headings, body in sections(text):
            prefix = " > ".join(headings)
            piece: list[str] = []
            size = 0
            for line in body.splitlines():
                cost = len(self.model.ids(line)) - 2
                if piece and size + cost > TOKENS - 40:
                    yield f"{prefix}\n" + "\n".join(piece)
                    piece, size = [], 0
                piece.append(line)
                size += cost
            if "".join(piece).strip():
                empty = False
                yield f"{prefix}\n" + "\n".join(piece)
        if empty and prefix:  # a title without text, as many records of a catalogue are, is a document too
            yield prefix

    def search(self, text: str, mode: str) -> list[str]:
        """File paths, best first."""
        return list(dict.fromkeys(self.paths[place] for place in self.passages(text, mode)))

    def passages(self, text: str, mode: str) -> list[int]:
        """Numbers of passages, best first."""
        rankings = []
        if mode in ("keyword", "hybrid"):
            scores = self.bm25.get_scores(self.words(text))
            rankings.append([place for place in np.argsort(-scores, kind="stable")[:DEPTH] if scores[place] > 0])
        if mode in ("semantic", "hybrid"):
            cosines = self.vectors @ self.model.embed([text])[0]
            rankings.append(list(np.argsort(-cosines, kind="stable")[:DEPTH]))
        points: dict[int, float] = {}
        for ranking in rankings:
            for rank, place in enumerate(ranking, start=1):
                points[int(place)] = points.get(int(place), 0.0) + 1 / (K + rank)
        return sorted(points, key=lambda place: (-points[place], place))


def table(reports: Sequence[Any]) -> str:
    """The reports as a Markdown table, a row per mode."""
    from librarian.evaluation.evaluate import MEASURES

    names = list(MEASURES)
    rows = [
        f"| mode | {' | '.join(names)} | p50 ms | p95 ms | p against {reports[0].mode} (nDCG@10) |",
        f"|---|{'---|' * (len(names) + 3)}",
    ]
    for report in reports:
        cells = [f"{m.mean:.3f} [{m.low:.3f}–{m.high:.3f}]" for m in (report.measures[name] for name in names)]
        p = report.measures[names[0]].p
        cells += [f"{report.p50_ms:.1f}", f"{report.p95_ms:.1f}", "—" if p is None else f"{p:.4f}"]
        rows.append(f"| {report.mode} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    from librarian.evaluation.evaluate import evaluate, load

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json and an int8 .onnx file")
    parser.add_argument("--product", default="", help="index this product alone")
    given = parser.parse_args()
    pipeline = PlainPipeline(given.docs, Model(given.model), given.product)
    reports = evaluate(load(given.queries, given.qrels), pipeline.search, ["keyword", "semantic", "hybrid"])
    print(f"{len(pipeline.paths)} chunks")
    print(table(reports))


if __name__ == "__main__":
    main()
