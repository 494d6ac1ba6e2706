"""Embeddings by Amazon Bedrock: Titan and Cohere models, over the runtime's `InvokeModel`.

Needs the extra `librarian-docs[bedrock]`. Credentials and region are found where all of Amazon's tools find them:
environment, profile, role.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..errors import LibrarianError, SetupError, Unavailable, install
from ..models import ModelSpec, Vectors
from .model_table import LONGEST
from .services import ServiceEmbedder, redacted

#: Cohere takes 96 texts a request, none above 2,048 characters: 384 estimated tokens stay below. Titan takes one text.
_COHERE_BATCH, _COHERE_TOKENS = 96, 384
_AT_ONCE = 8  #: requests side by side, where each holds one text
_LONGEST_WAIT_S = 24.0  #: of one request: four in a row end before an embedding child's task counts as stuck
_REFUSED = ("AccessDenied", "UnrecognizedClient", "ExpiredToken", "InvalidSignature", "MissingAuthentication")


class BedrockEmbedder(ServiceEmbedder):
    """Text to unit vectors by a model of Bedrock, named by its model id or inference profile.

    Failing and throttled requests are tried again by Amazon's client, `attempts` times in all. Raises `SetupError`
    without the extra, for credentials that are missing or refused and for a model that isn't there or isn't one of
    these two families; `Unavailable` for the rest, each in one sentence.
    """

    backend = "bedrock"

    def __init__(
        self, name: str, *, endpoint_url: str | None = None, timeout_s: float = 30.0, attempts: int = 4
    ) -> None:
        try:
            import boto3.session
            import botocore.config
            import botocore.exceptions
        except ImportError as error:
            raise SetupError(
                f"Amazon Bedrock needs the extra librarian-docs[bedrock], which isn't installed ({error}).",
                hint=f"Run {install('bedrock')}, or set embeddings.provider to local or openai.",
            ) from error
        self._cohere = "cohere." in name
        if not self._cohere and "titan-embed" not in name:
            raise SetupError(
                f"'{name}' isn't an embedding model of Bedrock that is known here.",
                hint="Set embeddings.model to an id like amazon.titan-embed-text-v2:0 or cohere.embed-multilingual-v3.",
            )
        self._name = name
        self._errors: Any = botocore.exceptions
        wait_s = min(timeout_s, _LONGEST_WAIT_S)
        config = botocore.config.Config(
            connect_timeout=min(5.0, wait_s),
            read_timeout=wait_s,
            max_pool_connections=_AT_ONCE,
            retries={"total_max_attempts": attempts, "mode": "standard"},
        )
        try:
            self._client: Any = boto3.session.Session().client(
                "bedrock-runtime", endpoint_url=endpoint_url, config=config
            )
        except self._errors.BotoCoreError as error:
            raise SetupError(
                f"Amazon Bedrock can't be reached like this ({redacted(error)}).",
                hint="Set AWS_REGION, or a profile that has a region.",
            ) from error
        limit = _COHERE_TOKENS if self._cohere else LONGEST
        self.spec = ModelSpec(name, 0, limit, provider="bedrock")
        width = self._embed(["dimension"], is_query=True).shape[1]
        self.spec = ModelSpec(name, width, limit, provider="bedrock")
        self.fingerprint = f"{name};bedrock;{width};{self.spec.window_limit};aws"

    def close(self) -> None:
        self._client.close()

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        inputs = [text or " " for text in texts]
        rows: list[Any] = []
        if not self._cohere:
            with ThreadPoolExecutor(min(_AT_ONCE, len(inputs))) as threads:
                rows += threads.map(lambda text: self._invoke({"inputText": text}, "embedding"), inputs)
        asked = {"input_type": "search_query" if is_query else "search_document", "truncate": "END"}
        for first in range(0, len(inputs) if self._cohere else 0, _COHERE_BATCH):
            found = self._invoke({"texts": inputs[first : first + _COHERE_BATCH], **asked}, "embeddings")
            rows += (found.get("float") if isinstance(found, dict) else found) or ()
        return self.checked(rows, len(texts))

    def _invoke(self, body: dict[str, object], field: str) -> Any:
        """The field of the answer that holds embeddings."""
        try:
            answer = self._client.invoke_model(
                modelId=self._name, body=json.dumps(body), contentType="application/json", accept="application/json"
            )
            return json.loads(answer["body"].read())[field]
        except self._errors.ClientError as error:
            raise self._refused(error.response) from error
        except self._errors.NoCredentialsError as error:
            raise SetupError(
                "There are no credentials for Amazon Bedrock.", hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
            ) from error
        except self._errors.BotoCoreError as error:
            raise Unavailable(
                f"Amazon Bedrock doesn't answer ({redacted(error)}).",
                hint="Check the network and the region; for a slow answer raise embeddings.timeout_s.",
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise self.no_embeddings(error) from error

    def _refused(self, response: dict[str, Any]) -> LibrarianError:
        code = str(response.get("Error", {}).get("Code", ""))
        reason = redacted(response.get("Error", {}).get("Message") or code or "it says nothing")
        status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if code.startswith(_REFUSED) or status in (401, 403):
            return SetupError(
                f"Amazon Bedrock refuses the credentials ({reason}).", hint="Check them, and the access to this model."
            )
        if code.startswith("ResourceNotFound") or status == 404 or "model identifier" in reason:
            return SetupError(
                f"Amazon Bedrock has no model '{self._name}' here ({reason}).",
                hint="Check embeddings.model and the region.",
            )
        return Unavailable(
            f"Amazon Bedrock refuses the request with {status} ({reason}).",
            hint="Try again in a minute, and check embeddings.model and your quota.",
        )
