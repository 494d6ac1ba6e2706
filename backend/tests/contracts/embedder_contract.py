"""What every `Embedder` promises, as tests: subclass `EmbedderContract` and give an `embedder` fixture.

* Vectors have unit length, the right shape and dtype, in the order of the texts; no text gives no vector.
* The same text gives the same vector, alone or in a batch (within `batch_tolerance`), from any thread.
* Windows begin with their prefix, hold exactly the slice they name, follow each other without a gap, and hold every
  word of the text; their hashes cover what is embedded.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from librarian.embeddings.base import Embedder

TEXTS = (
    "A pod is the smallest unit that can be deployed.",
    "The scheduler assigns pods to nodes. " * 20,
    "kubectl get pods --all-namespaces",
    "x",
    "",
    "Persistent volumes outlive the pods that use them, whatever happens to the node.",
    "東京都 – naïve café 🎉",
)
_ODD = ("pod", "Übergröße", "read_parquet()", "東京都", "x" * 150, "a.b.c", "\n\n", "🎉", "e\u0301", "the")
WORDS = st.lists(st.sampled_from(_ODD), max_size=400).map(" ".join)
PASSAGES = st.one_of(WORDS, st.text(max_size=600))
PREFIXES = st.sampled_from(["", "Title", "Guide > Install > " + "deep heading " * 5, "word " * 200])


class EmbedderContract:
    """Subclasses define the fixture `embedder`."""

    batch_tolerance: ClassVar[float] = 1e-5

    def test_vectors_have_unit_length_and_the_right_shape(self, embedder: Embedder) -> None:
        vectors = embedder.embed_chunks(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.spec.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        query = embedder.embed_query("What is a pod?")
        assert query.shape == (embedder.spec.dimension,)
        assert query.dtype == np.float32
        assert abs(float(np.linalg.norm(query)) - 1) < 1e-5

    def test_no_text_gives_no_vector(self, embedder: Embedder) -> None:
        assert embedder.embed_chunks([]).shape == (0, embedder.spec.dimension)

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        assert np.array_equal(embedder.embed_query("pods"), embedder.embed_query("pods"))
        assert np.array_equal(embedder.embed_chunks(TEXTS), embedder.embed_chunks(TEXTS))

    def test_a_batch_gives_what_one_by_one_gives(self, embedder: Embedder) -> None:
        together = embedder.embed_chunks(TEXTS)
        alone = np.concatenate([embedder.embed_chunks([text]) for text in TEXTS])
        assert np.min((together * alone).sum(axis=1)) > 1 - self.batch_tolerance

    def test_threads_share_it(self, embedder: Embedder) -> None:
        expected = embedder.embed_query("threads")
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(embedder.embed_query, ["threads"] * 12):
                assert np.array_equal(found, expected)

    def test_it_names_itself(self, embedder: Embedder) -> None:
        assert embedder.spec.name in embedder.fingerprint
        assert embedder.backend
        assert embedder.device

    @settings(
        max_examples=40,
        deadline=None,
        # One embedder serves all examples, and every subclass runs them: neither keeps state between them.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(prefix=PREFIXES, text=PASSAGES)
    def test_every_word_lies_in_a_window(self, embedder: Embedder, prefix: str, text: str) -> None:
        windows = embedder.windows(prefix, text)
        assert windows
        reached = 0
        for window in windows:
            assert window.start <= reached or not text[reached : window.start].strip()
            reached = max(reached, window.end)
            head = window.text.removesuffix(text[window.start : window.end])
            assert head == "" or (head.endswith("\n") and prefix.startswith(head[:-1]))
            assert window.hash == hashlib.sha256(window.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        assert [w.start for w in windows] == sorted({w.start for w in windows})
        assert not text[reached:].strip() or len(windows) == 1

    def test_a_short_text_is_one_window_with_its_whole_prefix(self, embedder: Embedder) -> None:
        (window,) = embedder.windows("Guide > Pods", "A pod runs.")
        assert window.text == "Guide > Pods\nA pod runs."
        assert (window.start, window.end) == (0, 11)
