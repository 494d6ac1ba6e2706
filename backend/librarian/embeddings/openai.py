"""Embeddings by a service that speaks OpenAI's `/embeddings`: OpenAI itself, vLLM, Ollama, LM Studio, LiteLLM."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import SetupError, Unavailable
from ..models import ModelSpec, Vector, Vectors
from .model_table import LONGEST, known, spec_of
from .onnx import unit_rows
from .services import Refused, ServiceClient, ServiceEmbedder

OPENAI = "https://api.openai.com/v1"
_BATCH = 64  #: texts a request; services allow 2,048, but answer later and fail at a higher cost
_TOO_MANY = (400, 413, 422)  #: how services say that a request holds too many texts
#: Seconds for all attempts together: less than an embedding child is given for one task, so that a service that hangs
#: is reported as that; a question waits less, since keyword search answers meanwhile.
_CHUNKS_S, _QUESTION_S = 100.0, 10.0
_MOST_BYTES = 64_000_000


class OpenAIEmbedder(ServiceEmbedder):
    """Text to unit vectors over HTTP.

    `timeout_s` is for one request; rate limits and failing servers are tried again, up to four times. Raises
    `SetupError` for a key that is refused or missing and a model that isn't there, `Unavailable` for the rest.
    """

    backend = "openai"

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout_s: float = 30.0,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        url = (base_url or OPENAI).rstrip("/")
        if not api_key and url == OPENAI:
            raise SetupError("There is no key for OpenAI's embeddings.", hint="Set OPENAI_API_KEY.")
        self._client = ServiceClient(url, api_key or "", name="The embedding service", settings="embeddings", wait=wait)
        self._timeout_s = timeout_s
        self._batch = _BATCH
        row = spec_of(name) if name in known() else ModelSpec(name, 0, LONGEST, provider="openai")
        self.spec = row
        if dimension or not row.dimension:
            try:
                found = dimension or self._request(["dimension"]).shape[1]
            except BaseException:
                self.close()
                raise
            self.spec = replace(row, name=name, dimension=found)
        place = hashlib.sha256(url.encode()).hexdigest()[:8]  # two services may call different models by one name
        self.fingerprint = f"{self.spec.name};openai;{self.spec.dimension};{self.spec.window_limit};{place}"

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), unit length."""
        left = [self.spec.passage_prefix + text for text in texts]
        parts = [np.zeros((0, self.spec.dimension), dtype=np.float32)]
        while left:
            batch, left = left[: self._batch], left[self._batch :]
            parts.append(self._in_parts(batch))
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length."""
        vector: Vector = self._request([self.spec.query_prefix + text], within_s=_QUESTION_S)[0]
        return vector

    def close(self) -> None:
        self._client.close()

    def _in_parts(self, texts: Sequence[str]) -> Vectors:
        """The texts' vectors by one request, or by several if the service takes fewer at once: it says so with one of
        several states, and with words of its own. From then on requests are no larger than what it took."""
        try:
            return self._request(texts)
        except Refused as error:
            if error.status not in _TOO_MANY or len(texts) == 1:
                raise
        half = (len(texts) + 1) // 2
        found = np.concatenate([self._in_parts(texts[:half]), self._in_parts(texts[half:])])
        self._batch = min(self._batch, half)
        return found

    def _request(self, texts: Sequence[str], *, within_s: float = _CHUNKS_S) -> Vectors:
        body = {"model": self.spec.name, "input": [text or " " for text in texts]}
        try:
            answer = self._client.post(
                "/embeddings", body, timeout_s=self._timeout_s, within_s=within_s, attempts=4, most_bytes=_MOST_BYTES
            )
        except Refused as error:
            if error.status not in (401, 403, 404):
                raise
            what, hint = "refuses the key", "Check OPENAI_API_KEY."
            if error.status == 404:
                what, hint = f"has no model '{self.spec.name}'", "Check embeddings.model and base_url."
            raise SetupError(f"{self._client.shown} {what} ({error.reason}).", hint=hint) from error
        return self._vectors(answer, len(texts))

    def _vectors(self, answer: str, count: int) -> Vectors:
        try:
            data: list[dict[str, Any]] = json.loads(answer)["data"]
            rows = sorted(data, key=lambda item: int(item.get("index", 0)))
            vectors = np.array([_numbers(row["embedding"]) for row in rows], dtype=np.float64)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable(
                f"{self._client.shown} answers with something that isn't embeddings "
                f"({self._client.redacted(repr(error))}).",
                hint="Check embeddings.base_url.",
            ) from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise Unavailable(
                f"{self._client.shown} answers {count} texts with embeddings of shape {vectors.shape}.",
                hint="See the service's log.",
            )
        if self.spec.dimension and vectors.shape[1] != self.spec.dimension:
            raise SetupError(
                f"'{self.spec.name}' gives vectors of {vectors.shape[1]} numbers, not {self.spec.dimension}.",
                hint="Check embeddings.model and embeddings.base_url: another model answers there.",
            )
        return unit_rows(vectors)


def _numbers(embedding: Any) -> Any:
    """A vector as it was sent: numbers, or in base64 the bytes of 32-bit ones."""
    return np.frombuffer(base64.b64decode(embedding), "<f4") if isinstance(embedding, str) else embedding
