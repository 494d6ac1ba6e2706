"""How good the answers are, by mode, beside rivals on the same files and questions; a Markdown table.

Every set is searched through the engine with fusion weights that were learned without anything of that set, by
`train_ranker.py`, which runs first. Intervals are bootstrap, p is of the paired randomisation test against the plain
hybrid pipeline; the last table pools the questions of all sets. With `--whole` the sets of the first one's folder are
also searched in a larger library that holds them, by the rivals too.

    python benchmarks/quality.py --work FOLDER --model FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set …
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import judged_sets
from judged_sets import JudgedSet, engine_of, opened, ranked, weights_without
from librarian.evaluation.evaluate import ModeReport, evaluate, interval, randomisation
from librarian.search.ranker import LinearRanker
from rivals import rankings

MODES = ("keyword", "semantic", "hybrid", "auto", "rerank", "hyde")
MEASURE = "nDCG@10"
RIVAL = "plain hybrid"


def reports(
    one: JudgedSet,
    work: Path,
    model: Path | None,
    ranker: LinearRanker,
    modes: Sequence[str],
    overrides: Mapping[str, object],
) -> dict[str, ModeReport]:
    """Rivals first, then every mode."""
    others = rankings(one, work, model)
    questions = one.questions()
    with opened(one, work, **overrides) as parts:
        engine_of(parts).use(ranker=ranker)

        def search(text: str, mode: str) -> list[str]:
            return others[mode][text] if mode in others else ranked(parts, text, mode)

        for mode in modes:  # the first question loads the model
            search(questions[0].text, mode)
        return {report.mode: report for report in evaluate(questions, search, [*others, *modes])}


def rows(found: dict[str, ModeReport]) -> list[str]:
    against = found[RIVAL].per_query[MEASURE] if RIVAL in found else None
    out = []
    for name, report in found.items():
        own = report.measures
        p = "—" if against is None or name == RIVAL else f"{randomisation(report.per_query[MEASURE], against):.4f}"
        figures = " | ".join(f"{own[measure].mean:.3f}" for measure in (MEASURE, "recall@10", "MRR@10"))
        low, high = own[MEASURE].low, own[MEASURE].high
        out.append(f"| {name} | {figures} | {low:.3f}–{high:.3f} | {p} |")
    return out


def pooled(every: dict[str, dict[str, ModeReport]]) -> list[str]:
    """The means over all questions of the sets that hold the rival, and over all sets where none does."""
    sets = [found for found in every.values() if RIVAL in found] or list(every.values())
    out = []
    against = [value for found in sets if RIVAL in found for value in found[RIVAL].per_query[MEASURE]]
    for name in [key for key in sets[0] if all(key in found for found in sets)]:
        values = [value for found in sets for value in found[name].per_query[MEASURE]]
        low, high = interval(values)
        p = f"{randomisation(values, against):.4f}" if against and name != RIVAL else "—"
        out.append(f"| {name} | {sum(values) / len(values):.3f} | {low:.3f}–{high:.3f} | {p} |")
    return out


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--model", type=Path, help="the rivals' model folder; without it only kept rankings are shown")
    parser.add_argument("--modes", default=",".join(MODES), help="separated by commas")
    parser.add_argument(
        "--whole",
        nargs=2,
        metavar=("NAME", "INCLUDE"),
        help="a larger part of the first set's folder (glob pattern or *), in which its sets are searched too",
    )
    parser.add_argument("--unadapted", action="store_true", help="leave questions as the model embeds them")
    given = parser.parse_args()
    modes, overrides = given.modes.split(","), judged_sets.UNADAPTED if given.unadapted else {}
    sets = [JudgedSet.of(row) for row in given.set]
    every = {}
    for one in sets:
        weights = weights_without(one.name, given.work)
        every[one.name] = found = reports(one, given.work, given.model, LinearRanker(weights), modes, overrides)
        say(f"\n{one.name}, {len(one.questions())} questions; weights learned from other sets: {weights}\n")
        say(f"| | {MEASURE} | recall@10 | MRR@10 | 95% of {MEASURE} | p against {RIVAL} |\n|---|---|---|---|---|---|")
        say("\n".join(rows(found)))
    say(f"\npooled\n\n| | {MEASURE} | 95% | p against {RIVAL} |\n|---|---|---|---|")
    say("\n".join(pooled(every)))
    if given.whole:
        name, pattern = given.whole
        within = {
            one.name: reports(
                replace(one, name=name, include=() if pattern == "*" else (pattern,)),
                given.work,
                given.model,
                LinearRanker(weights_without(one.name, given.work)),
                modes,
                overrides,
            )
            for one in sets
            if one.docs == sets[0].docs
        }
        for set_name, found in within.items():
            say(f"\n{set_name} in {name}\n\n| | {MEASURE} | recall@10 | MRR@10 | 95% | p |\n|---|---|---|---|---|---|")
            say("\n".join(rows(found)))
        say(f"\npooled in {name}\n\n| | {MEASURE} | 95% | p |\n|---|---|---|---|")
        say("\n".join(pooled(within)))


if __name__ == "__main__":
    main()
