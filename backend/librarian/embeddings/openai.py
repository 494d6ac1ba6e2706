"""Embeddings by a service that speaks OpenAI's `/embeddings`: OpenAI itself, vLLM, Ollama, LM Studio, LiteLLM."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import SetupError
from ..models import ModelSpec, Vector, Vectors
from .model_table import LONGEST, known, spec_of
from .services import Refused, ServiceClient, ServiceEmbedder

OPENAI = "https://api.openai.com/v1"
_BATCH = 32  #: texts a request: no service is known that takes fewer
#: Seconds for all attempts together: less than an embedding child is given for one task, so that a service that hangs
#: is reported as that; a question waits less, since keyword search answers meanwhile.
_CHUNKS_S, _QUESTION_S = 100.0, 10.0


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
        timeout_s: float = 30.0,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        url = (base_url or OPENAI).rstrip("/")
        if not api_key and url == OPENAI:
            raise SetupError("There is no key for OpenAI's embeddings.", hint="Set OPENAI_API_KEY.")
        self._client = ServiceClient(url, api_key or "", name="The embedding service", settings="embeddings", wait=wait)
        self._timeout_s = timeout_s
        row = spec_of(name) if name in known() else ModelSpec(name, 0, LONGEST, provider="openai")
        self.spec = row
        if not row.dimension:
            try:
                self.spec = replace(row, dimension=self._request(["dimension"]).shape[1])
            except BaseException:
                self.close()
                raise
        place = hashlib.sha256(url.encode()).hexdigest()[:8]  # two services may call different models by one name
        self.fingerprint = f"{self.spec.name};openai;{self.spec.dimension};{self.spec.window_limit};{place}"

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), unit length."""
        given = [self.spec.passage_prefix + text for text in texts]
        parts = [self._request(given[at : at + _BATCH]) for at in range(0, len(given), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self.spec.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length."""
        vector: Vector = self._request([self.spec.query_prefix + text], within_s=_QUESTION_S)[0]
        return vector

    def close(self) -> None:
        self._client.close()

    def _request(self, texts: Sequence[str], *, within_s: float = _CHUNKS_S) -> Vectors:
        body = {"model": self.spec.name, "input": [text or " " for text in texts]}
        try:
            answer = self._client.post("/embeddings", body, timeout_s=self._timeout_s, within_s=within_s, attempts=4)
        except Refused as error:
            if error.status not in (401, 403, 404):
                raise
            what, hint = "refuses the key", "Check OPENAI_API_KEY."
            if error.status == 404:
                what, hint = f"has no model '{self.spec.name}'", "Check embeddings.model and base_url."
            raise SetupError(f"{self._client.shown} {what} ({error.reason}).", hint=hint) from error
        try:
            rows = sorted(json.loads(answer)["data"], key=lambda item: int(item.get("index", 0)))
            return self.checked([row["embedding"] for row in rows], len(texts))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.no_embeddings(self._client.redacted(repr(error))) from error
