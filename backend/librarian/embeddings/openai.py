"""Embeddings by a service that speaks OpenAI's `/embeddings`: OpenAI itself, vLLM, Ollama, LM Studio, LiteLLM."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event

from ..errors import SetupError
from ..models import ModelSpec, Vectors
from .model_table import LONGEST, known, spec_of
from .services import OPENAI, Refused, ServiceClient, ServiceEmbedder

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
        wait: Callable[[float], bool] = Event().wait,
    ) -> None:
        self._client = ServiceClient(base_url or OPENAI, api_key or "", "The embedding service", "embeddings", wait)
        self.close = self._client.close
        self._timeout_s = timeout_s
        self.spec = spec_of(name) if name in known() else ModelSpec(name, 0, LONGEST, provider="openai")
        if not self.spec.dimension:
            try:
                self.spec = replace(self.spec, dimension=self._embed(["dimension"]).shape[1])
            except BaseException:
                self.close()
                raise
        # two services may call different models by one name
        place = hashlib.sha256(self._client.url.encode()).hexdigest()[:8]
        self.fingerprint = f"{self.spec.name};openai;{self.spec.dimension};{self.spec.window_limit};{place}"

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        within_s = _QUESTION_S if is_query else _CHUNKS_S
        parts = (texts[first : first + _BATCH] for first in range(0, len(texts), _BATCH))
        return self.checked([row for part in parts for row in self._request(part, within_s)], len(texts))

    def _request(self, texts: Sequence[str], within_s: float) -> list[object]:
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
            return [row["embedding"] for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.no_embeddings(self._client.redacted(repr(error))) from error
