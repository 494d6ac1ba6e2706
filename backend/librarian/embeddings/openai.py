"""Embeddings by a service that speaks OpenAI's `/embeddings`: OpenAI itself, vLLM, Ollama, LM Studio, LiteLLM."""

from __future__ import annotations

import base64
import hashlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np

from ..errors import SetupError, Unavailable
from ..models import ModelSpec, Vector, Vectors, Window
from . import windows
from .model_table import LONGEST, known, spec_of
from .onnx import unit_rows
from .redaction import address, words


class ServiceEmbedder:
    """The part of an embedder that needs no service: nothing is computed here, and a text's tokens are estimated."""

    spec: ModelSpec

    @property
    def device(self) -> str:
        return "remote"

    def windows(self, prefix: str, text: str) -> list[Window]:
        """Windows sized by an estimate that never counts fewer tokens than there are."""
        return windows.cut(prefix, text, windows.estimated, self.spec.window_limit)


def first_line(said: object, otherwise: str) -> str:
    """A service's own words: one line of at most 200 letters, without its full stop; `otherwise` where it is silent."""
    lines = str(said).strip().splitlines()
    return lines[0][:200].rstrip(".") if lines else otherwise


OPENAI = "https://api.openai.com/v1"
_BATCH = 64  #: texts a request; services allow 2,048 but answer later and fail dearer
_TOO_MANY = (400, 413, 422)  #: how services say that a request holds too many texts
_ATTEMPTS = 4
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
#: Seconds for all attempts together: less than an embedding child is given for one task, so that a service that hangs
#: is reported as that; a question waits less, since words answer meanwhile.
_PASSAGES_S, _QUESTION_S = 100.0, 10.0


class OpenAIEmbedder(ServiceEmbedder):
    """Text to unit vectors over HTTP.

    `timeout_s` is for one request. Rate limits and failing servers are tried again, up to four times and 100 s in all
    (10 s for a question), after the pause that the service asks for (20 s at most); `wait` may end a pause early by
    returning True. Raises `SetupError` for a key that is refused or missing and a model that isn't there, `Unavailable`
    for the rest, each in one sentence.
    """

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
        self._url = (base_url or OPENAI).rstrip("/")
        self._shown = address(self._url)
        key = self._key = api_key or ""
        if not key and self._url == OPENAI:
            raise SetupError("There is no key for OpenAI's embeddings.", hint="Set OPENAI_API_KEY.")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers)
        self._timeout_s = timeout_s
        self._batch = _BATCH
        self._wait = wait or threading.Event().wait
        row = spec_of(name) if name in known() else ModelSpec(name, 0, LONGEST, provider="openai")
        self.spec = row
        if dimension or not row.dimension:
            try:
                found = dimension or self._request(["dimension"]).shape[1]
            except BaseException:
                self.close()
                raise
            self.spec = ModelSpec(name, found, row.max_tokens, row.query_prefix, row.passage_prefix,
                                  languages=row.languages, provider="openai")  # fmt: skip

    @property
    def fingerprint(self) -> str:
        """Model and place: two services may call different models by one name."""
        place = hashlib.sha256(self._url.encode()).hexdigest()[:8]
        return f"{self.spec.name};openai;{self.spec.dimension};{self.spec.window_limit};{place}"

    @property
    def backend(self) -> str:
        return "openai"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), unit length."""
        prefixed = [self.spec.passage_prefix + text for text in texts]
        parts, at = [np.zeros((0, self.spec.dimension), dtype=np.float32)], 0
        while at < len(prefixed):
            batch = prefixed[at : at + self._batch]
            parts.append(self._in_parts(batch))
            at += len(batch)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length."""
        vector: Vector = self._request([self.spec.query_prefix + text], within_s=_QUESTION_S)[0]
        return vector

    def close(self) -> None:
        self._client.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _in_parts(self, texts: Sequence[str]) -> Vectors:
        """The texts' vectors by one request, or by several where the service takes fewer at once: it says so with one
        of several states, and with words of its own. From then on requests are no larger than what it took."""
        try:
            return self._request(texts)
        except _Refused as error:
            if error.status not in _TOO_MANY or len(texts) == 1:
                raise
        half = (len(texts) + 1) // 2
        found = np.concatenate([self._in_parts(texts[:half]), self._in_parts(texts[half:])])
        self._batch = min(self._batch, half)
        return found

    def _request(self, texts: Sequence[str], *, within_s: float = _PASSAGES_S) -> Vectors:
        body: dict[str, object] = {"model": self.spec.name, "input": [text or " " for text in texts]}
        pause, deadline = _FIRST_PAUSE_S, time.monotonic() + within_s
        for attempt in range(1, _ATTEMPTS + 1):
            answer: httpx.Response | None = None
            try:
                patience = httpx.Timeout(min(self._timeout_s, max(1.0, deadline - time.monotonic())), connect=5.0)
                answer = self._client.post(f"{self._url}/embeddings", json=body, timeout=patience)
            except httpx.TimeoutException as error:
                problem = Unavailable(
                    f"The embedding service at {self._shown} doesn't answer ({type(error).__name__}).",
                    hint="Try again later, or raise embeddings.timeout_s.",
                )
            except httpx.TransportError as error:
                why = words(error).rstrip(".") or type(error).__name__
                problem = Unavailable(
                    f"The embedding service at {self._shown} can't be reached ({why}).",
                    hint="Check the network and embeddings.base_url.",
                )
            else:
                if answer.status_code == 200:
                    return self._vectors(answer, len(texts))
                problem = self._refused(answer)
            asked = _pause_of(answer, pause)
            if attempt == _ATTEMPTS or time.monotonic() + asked >= deadline or self._wait(asked):
                raise problem
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    def _refused(self, answer: httpx.Response) -> Unavailable:
        """What to raise after the last attempt; raises at once where trying again is useless."""
        said = words(_message(answer), self._key).rstrip(".")
        if answer.status_code in (401, 403):
            raise SetupError(f"{self._shown} refuses the key ({said}).", hint="Check OPENAI_API_KEY.")
        if answer.status_code == 404:
            raise SetupError(
                f"{self._shown} has no model '{self.spec.name}' ({said}).", hint="Check embeddings.model and base_url."
            )
        if answer.status_code == 429:
            if "insufficient_quota" in answer.text:
                raise Unavailable(
                    f"The quota of {self._shown} is used up ({said}).", hint="Check the account's billing."
                )
            return Unavailable(f"{self._shown} limits the rate of requests ({said}).", hint="Try again in a minute.")
        if answer.status_code >= 500 or answer.status_code == 408:
            return Unavailable(
                f"The embedding service at {self._shown} fails with {answer.status_code} ({said}).",
                hint="Try again later.",
            )
        raise _Refused(
            f"The embedding service at {self._shown} refuses the request with {answer.status_code} ({said}).",
            hint="Check embeddings.model and the service's log.",
            status=answer.status_code,
        )

    def _vectors(self, answer: httpx.Response, count: int) -> Vectors:
        try:
            data: list[dict[str, Any]] = answer.json()["data"]
            rows = sorted(data, key=lambda item: int(item.get("index", 0)))
            vectors = np.array([_numbers(row["embedding"]) for row in rows], dtype=np.float64)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable(
                f"{self._shown} answers with something that isn't embeddings ({words(repr(error), self._key)}).",
                hint="Check embeddings.base_url.",
            ) from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise Unavailable(
                f"{self._shown} answers {count} texts with embeddings of shape {vectors.shape}.",
                hint="See the service's log.",
            )
        if self.spec.dimension and vectors.shape[1] != self.spec.dimension:
            raise SetupError(
                f"'{self.spec.name}' gives vectors of {vectors.shape[1]} numbers, not {self.spec.dimension}.",
                hint="Check embeddings.model and embeddings.base_url: another model answers there.",
            )
        return unit_rows(vectors)


class _Refused(Unavailable):
    """A request that the service won't take, whatever the moment."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def _numbers(embedding: Any) -> Any:
    """A vector as it was sent: numbers, or in base64 the bytes of 32-bit ones."""
    return np.frombuffer(base64.b64decode(embedding), "<f4") if isinstance(embedding, str) else embedding


def _pause_of(answer: httpx.Response | None, pause: float) -> float:
    """Seconds to wait: what `Retry-After` asks for, in seconds or as a date, else `pause`."""
    said = answer.headers.get("retry-after", "") if answer is not None else ""
    try:
        asked = float(said)
    except ValueError:
        try:
            asked = (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # no date, or one without a zone
            return pause
    return pause if math.isnan(asked) else min(max(asked, 0.0), _LONGEST_PAUSE_S)


def _message(answer: httpx.Response) -> str:
    """The service's own words."""
    try:
        found = answer.json()["error"]
        said = found["message"] if isinstance(found, dict) else found
    except (ValueError, KeyError, TypeError):
        said = answer.text
    return str(said).strip() or f"HTTP {answer.status_code}"
