"""Models at a service that speaks OpenAI's protocol: OpenAI itself, vLLM, Ollama, LM Studio, LiteLLM.

One HTTP client with time limits and retries, whose errors hold no keys and passwords.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event

import httpx
import numpy as np

from ..errors import LibrarianError, SetupError, Unavailable
from ..models import ModelSpec, Vectors
from .base import TextEmbedder
from .model_table import LONGEST, known, spec_of
from .onnx import unit_rows

OPENAI = "https://api.openai.com/v1"
_KEY = re.compile(r"\bsk-[\w*-]{4,}")
_USER = re.compile(r"//[^/@\s]*@")
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_BUSY = (408, 429)  #: states that pass, besides those from 500 on
_BATCH = 32  #: texts a request: no service is known that takes fewer
#: Seconds for all attempts together: less than an embedding child is given for one task, so that a service that hangs
#: is reported as that; a question waits less, since keyword search answers meanwhile.
_CHUNKS_S, _QUESTION_S = 100.0, 10.0


def address(url: str) -> str:
    """A URL without the user and the password that some hold.

    >>> address("https://me:secret@models.example.org/v1")
    'https://models.example.org/v1'
    """
    return _USER.sub("//", url)


def redacted(text: object, *secrets: str) -> str:
    """A service's own words as one line of at most 200 letters, without these secrets and what looks like a key.

    >>> redacted("Wrong key:  s3cret!", "s3cret")
    'Wrong key: …!'
    """
    line = " ".join((str(text) or type(text).__name__).split())
    for secret in filter(None, secrets):
        line = line.replace(secret, "…")
    return _KEY.sub("…", address(line))[:200].rstrip(".")


@dataclass(eq=False, repr=False)
class ServiceClient:
    """Posts JSON to a service. Raises `SetupError` for OpenAI's own without a key."""

    url: str
    key: str
    model: str
    name: str  #: the service or model in errors, such as `The embedding service`
    settings: str  #: the section of the settings that errors point to
    wait: Callable[[float], bool] = Event().wait  #: sleeps between attempts; True ends a pause early

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self.shown = address(self.url)
        if not self.key and self.url == OPENAI:
            raise SetupError(f"There is no key for {OPENAI}.", hint=f"Set OPENAI_API_KEY or {self.settings}.base_url.")
        self._client = httpx.Client(headers={"Authorization": f"Bearer {self.key}"} if self.key else {})
        self.close = self._client.close

    def post(self, path: str, body: object, *, timeout_s: float, within_s: float, attempts: int) -> str:
        """The answer.

        Rate limits, failing servers and broken connections are tried again, `attempts` times and `within_s` in all,
        after the pause that the service asks for (20 s at most). Raises `SetupError` for a key or a model that the
        service doesn't take, `Unavailable` for the rest.
        """
        pause, deadline = _FIRST_PAUSE_S, time.monotonic() + within_s
        while True:
            attempts -= 1
            seconds = min(timeout_s, max(1.0, deadline - time.monotonic()))
            asked = pause
            failure: LibrarianError
            try:
                limits = httpx.Timeout(seconds, connect=min(5.0, seconds))
                answer = self._client.post(f"{self.url}{path}", json=body, timeout=limits)
            except httpx.TimeoutException:
                failure = Unavailable(
                    f"{self.name} at {self.shown} doesn't answer within {seconds:.1f} s.",
                    hint=f"Try again later, or raise {self.settings}.timeout_s.",
                )
            except httpx.TransportError as error:
                failure = Unavailable(
                    f"{self.name} at {self.shown} can't be reached ({redacted(error)}).",
                    hint=f"Check the network and {self.settings}.base_url.",
                )
            else:
                if answer.status_code == 200:
                    return answer.text
                failure = self._refused(answer.status_code, answer.text)
                if answer.status_code < 500 and (
                    answer.status_code not in _BUSY or "insufficient_quota" in answer.text
                ):
                    raise failure
                wanted = retry_after_s(answer.headers.get("retry-after", ""))
                asked = pause if wanted is None else min(wanted, _LONGEST_PAUSE_S)
            if not attempts or time.monotonic() + asked >= deadline or self.wait(asked):
                raise failure
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def answers(self, path: str, timeout_s: float) -> bool:
        """Whether the service answers a GET of this path."""
        try:
            return self._client.get(f"{self.url}{path}", timeout=timeout_s).status_code == 200
        except httpx.HTTPError:
            return False

    def redacted(self, text: object) -> str:
        """A service's own words without its key."""
        return redacted(text, self.key)

    def _refused(self, status: int, text: str) -> LibrarianError:
        """The error for an answer of another state than 200, with the service's own words."""
        reason = self.redacted(_message(text) or f"HTTP {status}")
        message = f"{self.name} at {self.shown} refuses the request with {status} ({reason})."
        hint = f"Check {self.settings}.model, {self.settings}.base_url and the service's log."
        if status in (401, 403):
            return SetupError(f"{self.shown} refuses the key ({reason}).", hint="Check OPENAI_API_KEY.")
        if status == 404:
            return SetupError(f"{self.shown} has no model '{self.model}' ({reason}).", hint=hint)
        if status == 429 and "insufficient_quota" in text:
            message, hint = f"The quota of {self.shown} is used up ({reason}).", "Check the account's billing."
        elif status == 429:
            message, hint = f"{self.shown} limits the rate of requests ({reason}).", "Try again in a minute."
        elif status >= 500 or status == 408:
            message, hint = f"{self.name} at {self.shown} fails with {status} ({reason}).", "Try again later."
        return Unavailable(message, hint=hint)


class ServiceEmbedder(TextEmbedder):
    """An embedder at a service: a text's tokens are estimated, and vectors checked."""

    device = "remote"

    def checked(self, rows: object, count: int) -> Vectors:
        """What a service sent for `count` texts, as rows of unit length. Raises `Unavailable` where it isn't that."""
        try:
            vectors = np.array(rows, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise self.no_embeddings(error) from error
        if vectors.ndim != 2 or vectors.shape != (count, self.spec.dimension or vectors.shape[1]):
            raise self.no_embeddings(f"shape {vectors.shape}")
        return unit_rows(vectors)

    def no_embeddings(self, what: object) -> Unavailable:
        """The error where a service sends something else than embeddings of this model's dimension."""
        return Unavailable(
            f"'{self.spec.name}' answers with something that isn't embeddings of its own ({redacted(what)}).",
            hint="Check embeddings.model and embeddings.base_url.",
        )


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
        self._client = ServiceClient(
            base_url or OPENAI, api_key or "", name, "The embedding service", "embeddings", wait
        )
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
        answer = self._client.post("/embeddings", body, timeout_s=self._timeout_s, within_s=within_s, attempts=4)
        try:
            rows = sorted(json.loads(answer)["data"], key=lambda item: int(item.get("index", 0)))
            return [row["embedding"] for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.no_embeddings(self._client.redacted(repr(error))) from error


def retry_after_s(asked: str) -> float | None:
    """Seconds that a `Retry-After` header asks to wait, given as a number or a date; None where it is neither."""
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # no date, or one without a zone
            return None
    return None if math.isnan(seconds) else max(seconds, 0.0)


def _message(text: str) -> str:
    """The service's own words in an error's body."""
    try:
        found = json.loads(text)["error"]
        return str(found["message"] if isinstance(found, dict) else found).strip()
    except (ValueError, KeyError, TypeError):
        return text.strip()
