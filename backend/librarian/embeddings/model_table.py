"""What must be known to embed with a model: dimension, limit, instructions, pooling. One row per model.

Limits and instructions are those of the model cards; a limit above 512 tokens is lowered to 512, since a chunk has no
more than about 400.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from ..errors import SetupError, Unavailable, install
from ..models import ModelSpec

DEFAULT = "all-MiniLM-L6-v2"
COUNT_FROM_PADDING = ("roberta", "camembert")  #: how kinds of model end whose first position isn't 0
LONGEST = 512

_POOLING = "1_Pooling"  #: folder of a sentence-transformers model's pooling
#: Ways of pooling by their published names; of unit vectors a sum over the root of its length is a mean.
_POOLINGS: dict[str, Literal["mean", "cls", "last"]] = {
    "mean": "mean", "mean_sqrt_len": "mean", "cls": "cls", "lasttoken": "last"
}  # fmt: skip

_MANY = ("en", "de", "fr", "es", "it", "nl", "pt", "ru", "sv", "pl", "tr", "ar", "hi", "th", "zh", "ja", "ko", "…")


_RETRIEVE = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_REPRESENT = "Represent this sentence for searching relevant passages: "
#: Models with the place that each is published at; empty where it is reached by its own service.
_ROWS: tuple[tuple[ModelSpec, str], ...] = (
    # trained on 128 tokens: windows of 128 find more than those of 256 (docs/librarian/guide/tuning.md)
    (ModelSpec(DEFAULT, 384, 256, window_tokens=128), "sentence-transformers/all-MiniLM-L6-v2"),
    (ModelSpec("all-mpnet-base-v2", 768, 384), "sentence-transformers/all-mpnet-base-v2"),
    (ModelSpec("multi-qa-MiniLM-L6-cos-v1", 384, 512), "sentence-transformers/multi-qa-MiniLM-L6-cos-v1"),
    (ModelSpec("e5-large-v2", 1024, 512, "query: ", "passage: "), "intfloat/e5-large-v2"),
    (ModelSpec("multilingual-e5-small", 384, 512, "query: ", "passage: ", languages=_MANY),
     "intfloat/multilingual-e5-small"),
    (ModelSpec("bge-small-en-v1.5", 384, 512, _REPRESENT, pooling="cls"), "BAAI/bge-small-en-v1.5"),
    (ModelSpec("Qwen3-Embedding-0.6B", 1024, LONGEST, _RETRIEVE, pooling="last", languages=_MANY),
     "Qwen/Qwen3-Embedding-0.6B"),
    (ModelSpec("text-embedding-3-small", 1536, LONGEST, languages=_MANY, provider="openai"), ""),
    (ModelSpec("text-embedding-3-large", 3072, LONGEST, languages=_MANY, provider="openai"), ""),
)  # fmt: skip
_BY_NAME = {key.lower(): row for row in _ROWS for key in (row[0].name, row[1]) if key}


def known() -> tuple[str, ...]:
    """Names of the table, the default first."""
    return tuple(spec.name for spec, _ in _ROWS)


def spec_of(name: str) -> ModelSpec:
    """The row of a model, by its short or its hub name in any case, with or without `@revision`.

    A hub name or folder that has no row gets dimension 0: what it is like is known once it has been fetched
    (`read_spec`). Raises `SetupError` for a bare name without a row, with the nearest one.
    """
    if (row := _row(name)) is not None:
        return row[0]
    if "/" in name or Path(os.path.expanduser(name)).is_dir():
        return ModelSpec(name, 0, LONGEST)
    near = get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.4)
    nearest = f"Nearest: '{_BY_NAME[near[0]][0].name}'. " if near else ""
    raise SetupError(
        f"No embedding model '{name}'.",
        hint=f"{nearest}Known: {', '.join(known())}; any other by its hub name (owner/name) or folder.",
    )


def canonical(name: str) -> str:
    """One name for a model however it is written; a name that means nothing stays as it is."""
    row = _row(name)
    return row[0].name if row else name


def hub_name(name: str) -> str:
    """Where a model is published, with the revision that the name asks for; the name itself where it has no row."""
    row = _row(name)
    return row[1] if row else name


def _row(name: str) -> tuple[ModelSpec, str] | None:
    """The row of a model, at the revision that its name asks for; a service's models have no revisions."""
    base, at, revision = name.partition("@")
    spec, place = _BY_NAME.get(base.lower(), (None, ""))
    if spec is None or (at and not place):
        return None
    return replace(spec, name=f"{spec.name}{at}{revision}"), f"{place}{at}{revision}"


def read_spec(name: str, folder: Path) -> ModelSpec:
    """The row of a model, or for one without a row what its files say.

    Reads `config.json` (width, limit), `sentence_bert_config.json` (limit), `1_Pooling/config.json` (pooling) and
    `config_sentence_transformers.json` (instructions), each where it is there. Raises `SetupError` without the first.
    """
    spec = spec_of(name)
    if spec.dimension:
        return spec
    config = read_json(folder / "config.json")
    if not config:
        raise SetupError(f"The model '{name}' has no config.json.", hint="Choose a sentence-transformers model.")
    dimension = config.get("hidden_size") or config.get("dim") or config.get("d_model")
    if not isinstance(dimension, int):
        raise SetupError(f"The config.json of '{name}' names no hidden_size.", hint="Choose another model.")
    limits = (read_json(folder / "sentence_bert_config.json").get("max_seq_length"), positions(config))
    given = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts")
    query_prefix, passage_prefix = prompts_of(prompts if isinstance(prompts, dict) else {})
    _refuse_modules(name, folder)
    return replace(
        spec,
        dimension=dimension,
        max_tokens=min([*given, LONGEST]),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        pooling=_pooling(name, read_json(folder / "1_Pooling" / "config.json")),
    )


def positions(config: Mapping[str, Any]) -> int | None:
    """The most tokens that a model has places for, by its `config.json`; None where that doesn't say."""
    found = config.get("max_position_embeddings")
    if not isinstance(found, int) or found <= 2:
        return None
    return found - 2 if str(config.get("model_type")).endswith(COUNT_FROM_PADDING) else found


def prompts_of(prompts: Mapping[str, Any]) -> tuple[str, str]:
    """(instruction before questions, instruction before texts) of a sentence-transformers model's prompts."""
    return str(prompts.get("query") or ""), str(prompts.get("passage") or prompts.get("document") or "")


def _refuse_modules(name: str, folder: Path) -> None:
    """Raises `Unavailable` where the model's vectors are made by more than an encoder, pooling and a length of one."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        kinds = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
    except (OSError, ValueError, KeyError, TypeError):
        return  # no sentence-transformers model, or one whose other files say enough
    further = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if further or kinds.get("Pooling", _POOLING) != _POOLING:
        raise _uncomputable(name, f"the module {further[0]}" if further else f"pooling in {kinds['Pooling']}")


def _pooling(name: str, config: Mapping[str, Any]) -> Literal["mean", "cls", "last"]:
    """The way of pooling that a module's configuration names, by flags or by a word."""
    modes = config.get("pooling_mode") or [
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    ]
    ways = [modes] if isinstance(modes, str) else list(modes)
    if len(ways) > 1 or not {*ways} <= _POOLINGS.keys():
        raise _uncomputable(name, f"pooling by {' and '.join(map(str, ways))}")
    return _POOLINGS[ways[0]] if ways else "mean"


def _uncomputable(name: str, what: str) -> Unavailable:
    return Unavailable(  # here; by the torch extra it may be had
        f"'{name}' has {what}, which isn't computed here.", hint=f"Run {install('torch')}, or choose another model."
    )


def folder_of(name: str) -> Path | None:
    """The folder that a name is; None for the name of a model."""
    if "/" not in name and not name.startswith("~"):
        return None
    folder = Path(name).expanduser()
    return folder if folder.is_dir() else None


def state_of(name: str) -> str:
    """Eight letters that change with the files of a model's folder; empty for the name of a model."""
    if (folder := folder_of(name)) is None:
        return ""
    files = [(path, path.stat()) for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern)) if path.is_file()]
    state = "\n".join(f"{path.relative_to(folder)} {known.st_size} {known.st_mtime_ns}" for path, known in files)
    return hashlib.sha256(state.encode()).hexdigest()[:8]


def read_json(path: Path) -> dict[str, Any]:
    """An object of a JSON file, empty where there is none. Raises `SetupError` where it isn't JSON."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{path.name} can't be read ({error}).", hint="It may be cut short: copy or fetch it again."
        ) from error
    return found if isinstance(found, dict) else {}


def dimension_of(fingerprint: str) -> int:
    """The dimension that an embedder's fingerprint (`name;backend;dimension;limit;build`) names."""
    return int(fingerprint.split(";")[-3])
