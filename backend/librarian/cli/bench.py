"""How long searches take, as a caller sees it and inside the daemon."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import CallerError
from ..evaluation.metrics import percentile
from .application import Target

USUAL_QUESTIONS = (
    "installation",
    "how do I change the configuration",
    "error when starting the server",
    "connect a client",
    "authentication with a token",
    "what is the default port",
    "upgrade to a new version",
    "environment variables",
    "performance tuning",
    "which formats are supported",
)
"""Asked where no questions are given: what people look for in any documentation."""

_PLAIN = frozenset({"keyword", "semantic"})  #: modes in which no language model is asked


def measure(
    target: Target, *, modes: Sequence[str], rounds: int, questions: Sequence[str] | None = None, llm: bool = False
) -> dict[str, Any]:
    """Median and 95th percentile in ms by mode: `inside` the daemon, and `outside` with the way there and back.

    Answers from a cache aren't counted. The first question of each mode warms up and isn't counted either. `llm`: a
    language model rewrites the questions where one is configured.
    """
    asked = questions or USUAL_QUESTIONS
    if not modes:
        raise CallerError("--modes is empty.", hint="Name at least one, for example keyword,hybrid.")
    found: dict[str, Any] = {}
    others: Counter[str] = Counter()
    for mode in modes:
        target.ask("bench", query=asked[0], mode=mode, llm=llm)
        inside, outside = [], []
        for _ in range(rounds):
            target.ask("clear_search_cache")
            for question in asked:
                before = time.perf_counter()
                answer = target.ask("bench", query=question, mode=mode, llm=llm)
                if answer["mode"] != mode != "auto":
                    others[f"{mode}: answered in mode {answer['mode']}"] += 1
                if answer.get("cache") is None:
                    outside.append((time.perf_counter() - before) * 1000)
                    inside.append(float(answer["took_ms"]))
        found[mode] = {"searches": len(inside)} | {
            f"{place_name} {name} ms": round(percentile(times, share), 2)
            for place_name, times in (("inside", inside), ("outside", outside))
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
    listed = [f"{what} ({count} of {len(asked) * rounds} searches)" for what, count in others.items()]
    if not llm and not _PLAIN.issuperset(modes) and target.ask("get_index_status")["llm"]["enabled"]:
        listed.append("the language model was asked nothing: --llm has it rewrite the questions, as it does others")
    return {"modes": found, "notes": [f"{len(asked)} questions, {rounds} rounds each", *listed]}


def read_questions(path: Path) -> list[str]:
    """The questions of a file, one a line. Raises `CallerError` where it can't be read or holds none."""
    try:
        questions = [line.strip() for line in path.read_text("utf-8-sig").split("\n") if line.strip()]
    except OSError as error:
        raise CallerError(f"Can't read {path}: {error.strerror}.", hint="Check --queries.") from error
    except UnicodeDecodeError as error:
        raise CallerError(f"Can't read {path}: {error}.", hint="Write it as UTF-8 text.") from error
    if not questions:
        raise CallerError(f"{path} holds no question.", hint="Write one a line, or leave --queries out.")
    return questions
