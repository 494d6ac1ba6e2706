"""The engine on real parts.

* every mode answers, names the mode that ran and reports all four legs
* weight 0 orders as keyword, weight 1 as semantic, and relevance is the plain formula between
* a hit's score is the sum of its reasons, and relevance falls with rank
* an identifier of the question is never ranked below a hit without it
* filters hold in every leg; pages tile the whole and repeat; limits per document hold
* without a model, with a failed one, with no vectors: words answer and the answer says so
* a search sees one state of the library, before or after a change, or says that it couldn't
* nothing found is never without a suggestion
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from librarian.embeddings.base import Rewrite
from librarian.errors import CallerError
from librarian.models import Deadline, Filters, Fusion, Kind, Mode, Query, Ranking, SearchOutcome
from librarian.search.engine import OUTDATED, TRIES, SearchOptions
from librarian.search.query_expansion import QueryExpansion
from librarian.search.ranker import in_sentences, shipped
from librarian.search.ranking import Calibration

from .library import Library, Loaded

MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid", "rerank", "hyde", "auto")
FUSIONS: tuple[Fusion, ...] = ("learned", "rrf", "weighted")


def paths(outcome: SearchOutcome) -> list[str]:
    return [hit.document.document.file_path for hit in outcome.hits]


def places(outcome: SearchOutcome) -> list[tuple[str, int]]:
    return [(hit.document.document.file_path, hit.chunk.chunk.ordinal) for hit in outcome.hits]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_puts_the_page_first_that_speaks_of_the_question(manual: Library, mode: Mode) -> None:
    outcome = manual.engine().search(Query("how to deploy and release the shop?", mode=mode))
    assert paths(outcome)[0] == "shop/api/deploy.md"
    assert outcome.mode in MODES
    assert outcome.mode != "auto"
    assert set(outcome.retrievers) == {"keyword", "semantic", "rerank", "hyde"}
    assert (outcome.routing is not None) == (mode == "auto")


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", MODES)
def test_relevance_is_in_0_to_1_and_falls_with_rank(manual: Library, mode: Mode, fusion: Fusion) -> None:
    engine = manual.engine(options=SearchOptions(fusion=fusion))
    for text in ("deploy", "how do replicas change capacity?", "max_replicas", "logs of the till"):
        relevance = [hit.relevance for hit in engine.search(Query(text, mode=mode)).hits]
        assert relevance or (text, mode) == ("max_replicas", "semantic")  # no word that the model knows
        assert relevance == sorted(relevance, reverse=True)
        assert all(0 <= one <= 1 for one in relevance)


@pytest.mark.parametrize("mode", MODES)
def test_the_order_is_the_sum_of_the_reasons(manual: Library, mode: Mode) -> None:
    outcome = manual.engine().search(Query("deploy a release", mode=mode))
    sums = [math.fsum(reason.points for reason in hit.candidate.why) for hit in outcome.hits]
    assert sums
    assert sums == sorted(sums, reverse=True)
    assert all(hit.candidate.why for hit in outcome.hits)


@pytest.mark.parametrize(("weight", "mode"), [(0.0, "keyword"), (1.0, "semantic")])
@pytest.mark.parametrize("text", ["deploy the till", "max_replicas", "rollout of a version", "disk size"])
def test_a_weight_at_its_end_orders_as_the_mode_of_that_end(
    manual: Library, text: str, weight: float, mode: Mode
) -> None:
    engine = manual.engine()
    by_weight = engine.search(Query(text, mode="hybrid", semantic_weight=weight, max_per_document=0))
    by_mode = engine.search(Query(text, mode=mode, max_per_document=0))
    assert by_mode.hits or (text, mode) == ("max_replicas", "semantic")  # no word that the model knows
    assert places(by_weight) == places(by_mode)
    assert by_weight.total == by_mode.total


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_with_a_weight_relevance_is_the_plain_formula(manual: Library, weight: float) -> None:
    outcome = manual.engine().search(Query("deploy the shop", mode="hybrid", semantic_weight=weight))
    assert outcome.hits
    for hit in outcome.hits:
        keyword, semantic = hit.candidate.keyword_score or 0.0, hit.candidate.semantic_score or 0.0
        assert hit.relevance == pytest.approx((1 - weight) * keyword + weight * semantic)


def test_a_page_too_short_to_tell_its_language_is_found_in_a_library_of_another(shelve: Callable[..., Library]) -> None:
    german = "# Neue Geräte\n\nDas Gerät wird mit dem Netz verbunden und dann eingerichtet, wie es im Handbuch steht.\n"
    library = shelve({"haus/netz/geraete.md": german, "haus/netz/giraffe.md": "# Giraffes\n"})
    assert set(library.catalog.columns().languages()) == {"de", "en"}
    assert paths(library.engine().search(Query("giraffes", mode="keyword"))) == ["haus/netz/giraffe.md"]
    assert paths(library.engine().search(Query("Geräten", mode="keyword"))) == ["haus/netz/geraete.md"]


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("autoscaling of replicas", 0.0),
        ("how does autoscaling follow the load of replicas", 0.5),
        (" ".join(f"autoscaling replicas load word{number}" for number in range(9)), 0.0),
    ],
)
def test_a_title_counts_less_in_a_sentence_asked_of_documents_of_several_passages(
    shelve: Callable[..., Library], question: str, share: float
) -> None:
    parts = [f"## Part {part}\n\n{'Autoscaling of replicas is about load. ' * 25}" for part in range(3)]
    library = shelve(
        {"alpha/long.md": "# Long\n\n" + "\n\n".join(parts), "alpha/one.md": "Autoscaling replicas by load."}
    )
    engine = library.engine()
    with library.catalog.read() as reader:
        ranked = engine.rank(Query(question, mode="hybrid"), reader)
    assert ranked.candidates.sentence == share
    weights = in_sentences(dict(shipped().weights), share)
    seen = {why.source: why.points / why.raw for candidate in ranked for why in candidate.why if why.raw}
    assert seen["keyword_scaled"] == pytest.approx(weights["keyword_scaled"])
    assert seen["semantic_scaled"] == pytest.approx(weights["semantic_scaled"])
    assert (weights["keyword_scaled"] < shipped().weights["keyword_scaled"]) == bool(share)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "rerank", "hyde"])
def test_a_weight_counts_in_hybrid_alone_and_elsewhere_it_is_said(manual: Library, mode: Mode) -> None:
    engine = manual.engine()
    plain = engine.search(Query("deploy the shop", mode=mode))
    weighted = engine.search(Query("deploy the shop", mode=mode, semantic_weight=0.5))
    assert [hit.relevance for hit in weighted.hits] == [hit.relevance for hit in plain.hits]
    assert (weighted.mode, weighted.answerable) == (plain.mode, plain.answerable)
    said, *others = weighted.suggestions
    assert tuple(others) == plain.suggestions
    assert said == {
        "kind": "mode",
        "value": "hybrid",
        "text": "semantic_weight had no effect: it weighs mode=hybrid alone.",
    }
    assert weighted.query.semantic_weight == 0.5
    without = manual.engine(embedder=Loaded(None, "no model")).search(
        Query("deploy the shop", mode=mode, semantic_weight=0.5)
    )
    assert without.mode == "keyword"
    assert without.hits


def test_a_draft_of_the_answer_asks_for_hyde_and_elsewhere_it_is_said(manual: Library) -> None:
    engine, answer = manual.engine(), "Passwords and credentials are kept as secrets."
    asked = engine.search(Query("guarding valuables", hypothetical_answer=answer, mode="auto"))
    assert (asked.mode, asked.suggestions) == ("hyde", ())
    assert asked.hits
    assert places(asked) == places(engine.search(Query("guarding valuables", hypothetical_answer=answer, mode="hyde")))
    for query in (
        Query("guarding valuables of the shop", hypothetical_answer=answer, mode="hybrid"),
        Query("guarding valuables of the shop", hypothetical_answer=answer, mode="auto", semantic_weight=0.5),
    ):
        outcome = engine.search(query)
        assert outcome.mode == "hybrid"
        assert str(outcome.suggestions[0]["text"]).startswith("hypothetical_answer had no effect")


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", ["keyword", "hybrid", "rerank", "auto"])
def test_an_identifier_is_never_ranked_below_a_hit_without_it(manual: Library, mode: Mode, fusion: Fusion) -> None:
    engine = manual.engine(options=SearchOptions(fusion=fusion))
    outcome = engine.search(Query("log level TILL_LOG_LEVEL", mode=mode, max_per_document=0))
    holds = ["till_log_level" in hit.chunk.chunk.text.lower() for hit in outcome.hits]
    assert holds[0]
    assert holds == sorted(holds, reverse=True)
    assert any(reason.source == "identifier" for reason in outcome.hits[0].candidate.why)


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "auto"])
@pytest.mark.parametrize("name", ["/etc/hosts", "where is /etc/hosts", "X-Forwarded-For", "`log-level`"])
def test_a_name_made_of_ordinary_words_is_found_before_what_has_only_the_words(
    shelve: Callable[..., Library], name: str, mode: Mode
) -> None:
    around = "The machine asks its servers in turn and keeps their answers for a while. " * 9
    library = shelve(
        {
            "net/os/names.md": f"# Names\n\n{around} Fixed ones are in /etc/hosts, and log-level says more. "
            "The client's address is in X-Forwarded-For.\n",
            "net/os/hosts.md": "# Hosts\n\nHosts know hosts, log the level of logs and host etc hosts for hosts.\n",
            "net/os/forward.md": "# Forwarding\n\nForwarded packets are forwarded for X. Forwarding is forward.\n",
        }
    )
    assert paths(library.engine().search(Query(name, mode=mode)))[0] == "net/os/names.md"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        (Filters(product="till"), {"till/guide/logging.md", "till/guide/deploy.md"}),
        (Filters(tags=("security",)), {"shop/ops/secrets.md"}),
        (Filters(product="shop", component="api"), {"shop/api/deploy.md", "shop/api/scaling.md"}),
    ],
)
def test_filters_hold_in_every_mode(manual: Library, mode: Mode, filters: Filters, allowed: set[str]) -> None:
    outcome = manual.engine().search(Query("deploy logs and secrets to scale", mode=mode, filters=filters))
    assert set(paths(outcome)) <= allowed
    assert outcome.hits


def test_the_page_that_answers_is_as_relevant_where_a_filter_leaves_nothing_else(manual: Library) -> None:
    engine, text = manual.engine(), "rotate each credential every month"
    among_others = engine.search(Query(text, mode="hybrid")).hits[0]
    alone = engine.search(Query(text, mode="hybrid", filters=Filters(tags=("security",)))).hits[0]
    assert alone.document.document.file_path == among_others.document.document.file_path == "shop/ops/secrets.md"
    assert alone.relevance == pytest.approx(among_others.relevance, abs=0.01)
    assert alone.relevance > 0.2


def test_an_answer_holds_no_documents_text(manual: Library) -> None:
    hits = manual.engine().search(Query("deploy logs and secrets to scale")).hits
    assert hits
    assert all(hit.document.document.text == "" and hit.document.document.blocks == () for hit in hits)


@pytest.mark.parametrize("mode", MODES)
def test_pages_tile_the_whole_answer(manual: Library, mode: Mode) -> None:
    engine = manual.engine()
    whole = Query("deploy the till and scale storage", mode=mode, max_results=50, max_per_document=0)
    all_places = places(engine.search(whole))
    assert places(engine.search(whole)) == all_places
    collected, offset = [], 0
    while True:
        page = engine.search(replace(whole, max_results=2, offset=offset))
        assert page.total == len(all_places)
        collected += places(page)
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert collected == all_places


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_says_where_it_counts_the_best_alone(manual: Library, mode: Mode) -> None:
    asked = Query("deploy the till and scale storage", mode=mode, max_per_document=0)

    def counted(asked: Query = asked, **options: int) -> tuple[int, bool]:
        answer = manual.engine(options=SearchOptions(**options)).search(asked)  # type: ignore[arg-type]
        return answer.total, answer.capped

    total, capped = counted()
    assert (total > 2, capped) == (True, False)
    assert counted(candidates=total) == (total, False)
    assert counted(candidates=total - 1) == (total - 1, True)
    read = counted(depth=2)
    assert (read[0] < total, read[1]) == (True, True), "a leg that stopped may have more"


def test_a_document_has_as_many_hits_as_allowed(manual: Library) -> None:
    engine = manual.engine()
    for limit in (1, 2):
        found = paths(engine.search(Query("deploy release version rollout", mode="hybrid", max_per_document=limit)))
        assert found.count("shop/api/deploy.md") == limit
        assert all(found.count(path) <= limit for path in found)


def test_max_tokens_packs_whole_results_best_first(manual: Library) -> None:
    engine = manual.engine()
    whole = engine.search(Query("deploy the till", mode="hybrid"))
    few = engine.search(Query("deploy the till", mode="hybrid", max_tokens=whole.tokens_used // 2))
    assert 0 < len(few.hits) < len(whole.hits)
    assert places(few) == places(whole)[: len(few.hits)]
    assert few.next_offset == len(few.hits)
    assert few.tokens_used <= whole.tokens_used // 2


def test_equal_passages_are_one_hit_that_names_the_others(shelve: Callable[..., Library]) -> None:
    page = "# Install\n\nRun the installer and restart the till.\n"
    library = shelve({"a/v1/install.md": page, "a/v2/install.md": page, "b/x/other.md": "# Other\n\nNothing here.\n"})
    outcome = library.engine().search(Query("run the installer", mode="keyword"))
    assert len(outcome.hits) == 1
    assert {paths(outcome)[0], *outcome.hits[0].also_in} == {"a/v1/install.md", "a/v2/install.md"}


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_versions_that_share_their_text_have_together_as_many_hits_as_the_newer_one_alone(
    shelve: Callable[..., Library], mode: Mode, limit: int
) -> None:
    steps = "".join(f"## Step {n}\n\nTo deploy, run step {n} of the release and ship it.\n\n" for n in range(5))
    files = {f"till/v{n}/deploy.md": f"---\ndate: 202{n}-01-01\n---\n# Deploy\n\n{steps}" for n in (1, 3, 2)}
    files["till/v3/more.md"] = "# Release\n\nA release is tagged before it can deploy.\n"
    engine = shelve(files).engine()
    outcome = engine.search(Query("deploy a release", mode=mode, max_per_document=limit))
    assert sorted(paths(outcome)) == ["till/v3/deploy.md"] * limit + ["till/v3/more.md"]
    shared = [hit.also_in for hit in outcome.hits if hit.also_in]
    assert shared == [("till/v1/deploy.md", "till/v2/deploy.md")] * limit


def test_quoted_words_must_occur_and_excluded_ones_must_not(manual: Library) -> None:
    engine = manual.engine()
    for mode in ("keyword", "hybrid"):
        quoted = engine.search(Query('deploy "installer"', mode=mode))
        assert set(paths(quoted)) == {"till/guide/deploy.md"}
        without = engine.search(Query("deploy -till", mode=mode))
        assert without.hits
        assert not any("till" in hit.chunk.chunk.text.lower() for hit in without.hits)


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "rerank"])
def test_an_excluded_word_is_known_by_each_page_s_own_language_and_by_its_headings(
    shelve: Callable[..., Library], mode: Mode
) -> None:
    german = {
        "a/b/einrichten.md": "# Einrichten\n\nDie Zertifikate werden auf den Server kopiert und nicht verändert.\n",
        "a/b/starten.md": "# Starten\n\nDer Server wird mit dem Befehl gestartet und ist dann für alle erreichbar.\n",
    }
    engine = shelve(german).engine()
    assert set(paths(engine.search(Query("Server -Zertifikate", mode=mode)))) == {"a/b/starten.md"}
    assert set(paths(engine.search(Query('Server "Zertifikate werden"', mode=mode)))) == {"a/b/einrichten.md"}
    english = {
        "a/b/redis.md": "# Redis\n\n## Priorities\n\nHow messages are ordered: ship the urgent ones first.\n",
        "a/b/other.md": "# Brokers\n\nPriorities of messages differ by broker, and each can ship the urgent first.\n",
    }
    assert set(paths(shelve(english).engine().search(Query("ship -redis", mode=mode)))) == {"a/b/other.md"}


def test_an_excluded_word_is_no_part_of_the_meaning_nor_of_the_path(shelve: Callable[..., Library]) -> None:
    pages = {
        "queues/user/backup.md": "# Calling\n\nSnapshots are taken whenever a lane is idle.\n",
        "files/user/backup.md": "# Copies\n\nSnapshots are taken every night and kept for a week.\n",
    }
    engine = shelve(pages).engine()
    plain, without = (engine.search(Query(text, mode="hybrid")) for text in ("backup", "backup -queue"))
    assert set(paths(plain)) == set(pages), "the word `queue` stands in no text"
    assert paths(without) == ["files/user/backup.md"]
    kept = next(hit for hit in plain.hits if hit.document.document.product == "files")
    assert without.hits[0].candidate.semantic_score == kept.candidate.semantic_score


def test_demands_that_a_failed_keyword_leg_cannot_judge_are_told(
    manual: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(manual.lexical, "search", broken)
    plain, excluding = (manual.engine().search(Query(text, mode="hybrid")) for text in ("deploy", "deploy -till"))
    assert plain.hits
    assert excluding.hits
    assert plain.degraded == ("keyword: the disk is gone",)
    assert excluding.degraded == (
        *plain.degraded,
        "keyword: quoted and excluded words were ignored because the keyword index failed.",
    )


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_an_index_that_cannot_tell_misspelt_words_costs_no_answer(
    manual: Library, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    engine = manual.engine()
    asked = Query("how to deploy", mode=mode)
    as_before = paths(engine.search(asked))
    assert as_before

    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(manual.lexical, "frequencies", broken)
    outcome = engine.search(asked)
    assert paths(outcome) == as_before
    assert outcome.rewritten is None


class Changing:
    """A keyword index under which a page changes, as an indexer changes it, whenever it is asked so many times."""

    def __init__(self, library: Library, path: str, times: int) -> None:
        self.left = times
        self._library, self._path, self._search = library, path, library.lexical.search

    def search(self, *given: Any) -> Ranking:
        if self.left:
            self.left -= 1
            with self._library.catalog.transaction():
                self._library.put(self._path, f"# Deploying\n\nDeploy {self.left} replicas by a rollout.\n")
                self._library.lexical.commit(self._library.catalog.bump())
        return self._search(*given)


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "rerank"])
def test_a_search_that_meets_a_change_asks_again(
    shelve: Callable[..., Library], monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    files = {f"ship/api/{name}.md": f"# Deploying {name}\n\nDeploy {name} by a rollout.\n" for name in "abc"}
    library = shelve(files)
    engine, asked = library.engine(), Query("deploy by a rollout", mode=mode)
    changing = Changing(library, "ship/api/b.md", 1)
    monkeypatch.setattr(library.lexical, "search", changing.search)
    outcome = engine.search(asked)
    assert changing.left == 0
    assert sorted(paths(outcome)) == sorted(files)
    assert outcome.degraded == ()
    assert any("Deploy 0 replicas" in hit.snippet.text for hit in outcome.hits)
    changing.left = 100
    outcome = engine.search(asked)
    assert outcome.degraded == (OUTDATED,)
    assert changing.left == 100 - TRIES
    assert {"ship/api/a.md", "ship/api/c.md"} <= set(paths(outcome))


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "rerank", "hyde"])
@pytest.mark.parametrize(
    ("embedder", "status", "word"),
    [(None, "off", "switched off"), (Loaded(None, "The model can't be loaded."), "failed", "can't be loaded")],
)
def test_without_a_model_words_answer_and_the_answer_says_so(
    manual: Library, mode: Mode, embedder: object, status: str, word: str
) -> None:
    outcome = manual.engine(embedder=embedder).search(Query("deploy the shop", mode=mode))
    assert outcome.mode == "keyword"
    assert outcome.hits
    assert outcome.retrievers["semantic"].status == status
    assert word in outcome.retrievers["semantic"].reason
    assert any(word in item for item in outcome.degraded)


def test_before_anything_is_embedded_words_answer(shelve: Callable[..., Library]) -> None:
    outcome = shelve(embed=False).engine().search(Query("deploy the shop", mode="hybrid"))
    assert outcome.mode == "keyword"
    assert outcome.hits
    assert "No passage is embedded" in outcome.retrievers["semantic"].reason


def test_keyword_mode_without_a_model_is_not_degraded(manual: Library) -> None:
    outcome = manual.engine(embedder=None).search(Query("deploy", mode="auto"))
    assert outcome.mode == "keyword"
    assert not outcome.degraded
    assert outcome.hits


def test_hyde_takes_the_callers_answer_and_shows_it(manual: Library) -> None:
    answer = "A secret is a password or credential."
    outcome = manual.engine().search(Query("guarding valuables", mode="hyde", hypothetical_answer=answer))
    assert outcome.mode == "hyde"
    assert outcome.rewritten == {"search_terms": "", "hypothetical_answer": answer, "source": "caller"}
    assert paths(outcome)[0] == "shop/ops/secrets.md"


@pytest.mark.parametrize("question", ["how do I configure capacity?", "capacity"])
def test_hyde_answers_short_questions_in_advance_for_whom_asks_for_it(manual: Library, question: str) -> None:
    outcome = manual.engine().search(Query(question, mode="hyde"))
    assert (outcome.mode, outcome.retrievers["hyde"].status) == ("hyde", "ok")
    assert outcome.rewritten is not None
    assert outcome.rewritten["source"] == "template"
    assert paths(outcome)[0] == "shop/api/scaling.md"


def test_hyde_is_skipped_for_identifiers_and_says_so(manual: Library) -> None:
    outcome = manual.engine().search(Query("max_replicas", mode="hyde"))
    assert outcome.mode == "hybrid"
    assert outcome.retrievers["hyde"].status == "skipped"
    assert "identifier" in outcome.retrievers["hyde"].reason
    assert outcome.hits


def test_rerank_says_when_nothing_reaches_its_threshold(manual: Library) -> None:
    outcome = manual.engine(options=SearchOptions(reranker="keyword-stage", rerank_keyword_threshold=0.99)).search(
        Query("deploy the shop", mode="rerank")
    )
    assert outcome.mode == "hybrid"
    assert outcome.retrievers["rerank"].status == "skipped"
    assert outcome.hits


@pytest.mark.parametrize("mode", MODES)
def test_nothing_found_comes_with_suggestions(manual: Library, mode: Mode) -> None:
    engine = manual.engine(embedder=None)
    for query in (
        Query("zzyzx qwrtp", mode=mode),
        Query("autsokalingg", mode=mode),
        Query("password", mode=mode, filters=Filters(product="till")),
        Query("deploy", mode=mode, offset=60),
    ):
        outcome = engine.search(query)
        assert not outcome.hits
        assert outcome.suggestions
        assert outcome.next_offset is None


def test_hybrid_is_suggested_only_where_meaning_can_be_searched(manual: Library) -> None:
    for unknown in (Query("zzyzx qwrtp", mode="keyword"), Query("node.zzyzx", mode="auto")):
        found = manual.engine().search(unknown)
        assert (found.mode, found.hits) == ("keyword", ())
        assert ("mode", "hybrid") in [(item["kind"], item["value"]) for item in found.suggestions]
        assert "mode" not in [item["kind"] for item in manual.engine(embedder=None).search(unknown).suggestions]


def test_a_word_far_from_any_is_answered_with_the_nearest(manual: Library) -> None:
    outcome = manual.engine(embedder=None).search(Query("autoscallling", mode="keyword"))
    assert not outcome.hits
    assert any(item["kind"] == "term" for item in outcome.suggestions)


@pytest.mark.parametrize("mode", MODES)
def test_a_misspelt_question_is_answered_as_the_right_one_and_says_so(manual: Library, mode: Mode) -> None:
    engine = manual.engine()
    right, asked = (
        engine.search(Query("how many replicas", mode=mode)),
        engine.search(Query("how many replcias", mode=mode)),
    )
    assert asked.query.text == "how many replcias"
    assert asked.hits
    assert [(hit.chunk.chunk_id, hit.relevance) for hit in asked.hits] == [
        (hit.chunk.chunk_id, hit.relevance) for hit in right.hits
    ]
    assert asked.rewritten is not None
    assert str(asked.rewritten["source"]).startswith("spelling")
    assert str(asked.rewritten["search_terms"]).startswith("how many replicas")
    told = [item for item in asked.suggestions if item["value"] == "replicas"]
    assert len(told) == 1
    assert "“replcias” isn't in the library: searched for “replicas”" in str(told[0]["text"])
    as_typed = engine.search(Query('how many "replcias"', mode="keyword"))
    assert not as_typed.hits


def test_hits_that_hardly_answer_come_with_the_nearest_words(manual: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    doubting = manual.engine(calibration=Calibration(unlikely_below=1.1))
    outcome = doubting.search(Query("how to autoscal replciass", mode="keyword"))
    assert outcome.hits
    assert outcome.answerable == "unlikely"
    assert [(item["kind"], item["value"]) for item in outcome.suggestions] == [("term", "replicas")]
    assert "“replciass”" in str(outcome.suggestions[0]["text"])
    assert doubting.search(Query("how to deploy", mode="keyword")).suggestions == ()
    sure = manual.engine(calibration=Calibration(unlikely_below=0.0))
    assert sure.search(Query("how to autoscal replciass", mode="keyword")).suggestions == ()


def test_an_empty_library_says_that_nothing_is_indexed(shelve: Callable[..., Library]) -> None:
    outcome = shelve({}).engine().search(Query("anything", mode="hybrid"))
    assert [item["kind"] for item in outcome.suggestions] == ["index"]
    assert "Nothing is indexed yet" in str(outcome.suggestions[0]["text"])


@pytest.mark.parametrize(
    ("path", "kind", "where"),
    [("ship/mail/note.eml", "document", "search_emails"), ("ship/api/note.md", "email", "search_documentation")],
)
def test_where_all_is_mail_or_nothing_is_who_searches_the_rest_is_told_where_to_look(
    shelve: Callable[..., Library], path: str, kind: Kind, where: str
) -> None:
    library = shelve({path: "Subject: Shipping\n\nWe ship on Monday.\n"})
    outcome = library.engine().search(Query("ship on monday", mode="keyword", filters=Filters(kind=kind)))
    assert not outcome.hits
    (told,) = outcome.suggestions
    assert where in str(told["text"])


def test_who_filters_by_a_product_of_mails_alone_is_told_where_to_look(shelve: Callable[..., Library]) -> None:
    library = shelve({"post/mail/note.eml": "Subject: Ship\n\nWe ship on Monday.\n", "ship/api/note.md": "# Ship\n"})
    engine = library.engine()
    for kind, product, where in (("document", "post", "search_emails"), ("email", "ship", "search_documentation")):
        query = Query("ship on monday", mode="keyword", filters=Filters(kind=kind, product=product))  # type: ignore[arg-type]
        told = [str(item["text"]) for item in engine.search(query).suggestions if item["kind"] == "index"]
        assert [where in text for text in told] == [True]
        both = replace(query, filters=replace(query.filters, product=None, component="nowhere"))
        assert "index" not in [item["kind"] for item in engine.search(both).suggestions]


def test_questions_of_stop_words_only_dont_fail(manual: Library) -> None:
    engine = manual.engine()
    for mode in MODES:
        for text in ("how to", "?", "the", "--", '""', "-"):
            outcome = engine.search(Query(text, mode=mode))
            assert {name for name, retriever in outcome.retrievers.items() if retriever.status == "failed"} == set(), (
                text
            )
            assert outcome.query.text == text


def test_an_unknown_mode_and_a_spent_budget_are_the_callers_errors(manual: Library) -> None:
    engine = manual.engine()
    with pytest.raises(CallerError, match="Unknown mode 'fuzzy'"):
        engine.search(Query("deploy", mode="fuzzy"))  # type: ignore[arg-type]
    cancelled = Event()
    cancelled.set()
    with pytest.raises(CallerError, match="cancelled"):
        engine.search(Query("deploy"), Deadline(cancelled=cancelled))
    with pytest.raises(CallerError, match="out of time"):
        engine.search(Query("deploy"), Deadline.of_ms(-1))


def test_a_paragraph_that_quotes_by_the_way_is_read_as_prose(manual: Library) -> None:
    text = (
        'I want to deploy the shop with a "rollout" and keep replicas, secrets, passwords, volumes, logs, settings, '
        "capacity, credentials and storage on every machine that runs a release of it"
    )
    outcome = manual.engine().search(Query(text, mode="hybrid"))
    assert len(set(paths(outcome))) > 2
    assert outcome.rewritten is not None
    assert outcome.rewritten["source"] == "quotes ignored"
    assert manual.engine().search(Query(text, mode="auto")).mode == "hybrid"


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_single_word_that_a_paragraph_quotes_need_not_occur(shelve: Callable[..., Library], mode: Mode) -> None:
    notes = {f"box/notes/{number}.md": f"# Note {number}\n\nA colour matches the wall.\n" for number in range(12)}
    types = "# Types\n\nThe type of a module says in which contexts a compiler accepts it, and checks its interface.\n"
    engine = shelve({**notes, "box/papers/types.md": types}).engine()
    paragraph = (
        'What is the type of a module? I want to know how compilers check that the interface of a module "matches" '
        "those contexts in which programmers use it, in languages with separate compilation"
    )
    outcome = engine.search(Query(paragraph, mode=mode))
    assert paths(outcome)[0] == "box/papers/types.md"
    assert outcome.rewritten is not None
    assert outcome.rewritten["source"] == "quotes ignored"
    short = engine.search(Query('which module "matches" the type', mode=mode))
    assert "box/papers/types.md" not in paths(short)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_question_of_stop_words_alone_is_told_so(manual: Library, mode: Mode) -> None:
    outcome = manual.engine().search(Query("how to do it", mode=mode))
    assert outcome.retrievers["keyword"].status == "skipped"
    assert outcome.retrievers["keyword"].reason == "only words that every text holds"
    assert not any(said["kind"] == "term" for said in outcome.suggestions)
    if mode == "keyword":
        assert not outcome.hits
        assert "“how to do it” holds no word that is looked for" in str(outcome.suggestions[0]["text"])


QUOTING = '"zebra crossing" how do I deploy the release and keep passwords, volumes, logs and replicas'


def test_all_that_was_searched_beside_a_question_is_told(manual: Library) -> None:
    outcome = manual.engine().search(Query(QUOTING, mode="hyde"))
    assert outcome.mode == "hyde"
    assert outcome.rewritten is not None
    assert outcome.rewritten["search_terms"] == QUOTING.replace('"', "")
    assert outcome.rewritten["source"] == "quotes ignored; template"
    assert str(outcome.rewritten["hypothetical_answer"]).lower().count("zebra crossing")


class Says:
    """A language model that says one thing."""

    name = "says"

    def rewrite(self, query: str, budget: Deadline) -> Rewrite:
        return Rewrite("autoscaling settings", "Set max_replicas.", "m1", 1.0)

    def is_reachable(self) -> bool:
        return True

    def close(self) -> None: ...


def test_a_language_models_words_are_told_beside_the_question_without_its_quotes(manual: Library) -> None:
    outcome = manual.engine(rewriting=QueryExpansion(Says())).search(Query(QUOTING, mode="hybrid"))
    assert outcome.rewritten == {
        "search_terms": "autoscaling settings; " + QUOTING.replace('"', ""),
        "hypothetical_answer": "Set max_replicas.",
        "source": "m1; quotes ignored",
    }
    assert "shop/api/scaling.md" in paths(outcome)
