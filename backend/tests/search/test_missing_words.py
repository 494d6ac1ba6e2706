"""Names and rare words of a question that no document holds: what is proved here.

* they are named, all hits' relevance falls below `unlikely_below` in the same order, and no answer is likely
* ordinary words, misspelt ones, other spellings and names that the asker gives are not named
* a word that a document holds, in whatever form, is never named
* in a small library a rare word in lower case takes the certainty, not the answer
* with filters, the documents count which they let through, and it is told where else the word is mentioned
* a short question whose words a title or heading holds is never unlikely to be answered
* relevance isn't high before it is calibrated
"""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from librarian.models import Filters, Mode, Query, SearchOutcome
from librarian.search.ranking import Calibration

from .library import Library

MAIL = (
    "From: Dana Okafor <dana@example.org>\nTo: team@example.org\nSubject: Queue\nMessage-ID: <1@x>\n\nThe queue grew.\n"
)
PAGES = {
    "fleet/guide/workers.md": "# Workers\n\nHow to run workers on Kubernetes and AWS: log in, then start the queue. "
    "The kube-proxy and `fleet.read_parquet` are used by the load balancer.\n",
    "fleet/guide/metrics-prometheus.md": "# Metrics\n\nSend a worker's metrics to a server, and view the dashboards.\n",
    "yard/guide/queues.md": "# Queues\n\nA RabbitMQ queue keeps jobs while workers are away.\n",
    "fleet/mail/1.eml": MAIL,
}
DOCUMENTS = Filters(kind="document")


@pytest.fixture
def pages(shelve: Callable[..., Library]) -> Library:
    return shelve(PAGES)


def found(library: Library, text: str, mode: Mode = "hybrid", filters: Filters = DOCUMENTS) -> SearchOutcome:
    return library.engine().search(Query(text, mode=mode, filters=filters))


def named(library: Library, *texts: str, filters: Filters = DOCUMENTS) -> list[tuple[str, ...]]:
    engine = library.engine()
    return [engine.search(Query(text, mode="keyword", filters=filters)).not_mentioned for text in texts]


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_name_that_no_document_mentions_makes_an_answer_unlikely(pages: Library, mode: Mode) -> None:
    asked, plain = found(pages, "how to run workers on Databricks", mode), found(pages, "how to run workers on", mode)
    assert asked.not_mentioned == ("Databricks",)
    assert asked.answerable == "unlikely"
    relevances = [hit.relevance for hit in asked.hits]
    assert relevances
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[0] < Calibration().unlikely_below
    assert plain.not_mentioned == ()
    assert plain.hits[0].relevance > relevances[0]


def test_names_are_told_by_their_form_and_rare_words_by_their_rarity(pages: Library) -> None:
    assert named(
        pages,
        "How do I run workers on Azure Functions?",
        "send metrics to splunk or to datadog",
        "Does a worker handle SIGTERM?",
        "use the LoadBalancerClass of a worker",
        "run fleet.read_feather in a worker",
        "DatabricksでWorkersを実行",
    ) == [
        ("Azure", "Functions"),
        ("splunk", "datadog"),
        ("SIGTERM",),
        ("LoadBalancerClass",),
        ("fleet.read_feather",),
        ("Databricks",),
    ]


def test_other_words_are_not_named(pages: Library) -> None:
    questions = (
        "How do I get rid of a worker?",  # an ordinary word
        "Nobody can log in",  # so is the first one
        "how to start the wrokers",  # corrected
        "how to start the dashbords of metrics",
        "Login to a worker",  # apart
        "which loadbalancer do workers use",
        "which Load-Balancer do workers use",
        "how to run K8s workers",
        "a worker named zorro with owner=quark",  # names that the asker gives
        "workers nginx1 and nginx2",
        "upload /srv/zorro/quark.yaml to a worker",
        "How To Get Rid Of Workers",  # a title
        "read about prometheus in fleet and yard",  # held by a file's name, and by products' names alone
        "workers -zorro",
        "thanks a lot",
    )
    assert dict(zip(questions, named(pages, *questions), strict=True)) == dict.fromkeys(questions, ())


def test_a_rare_word_in_lower_case_takes_the_certainty_in_a_small_library(pages: Library) -> None:
    sure = pages.engine(calibration=Calibration(unlikely_below=0.0, yes_from=0.01))
    plain, asked = (sure.search(Query(text)) for text in ("run workers on kubernetes", "run workers on heroku"))
    assert (plain.answerable, plain.not_mentioned) == ("yes", ())
    assert (asked.answerable, asked.not_mentioned) == ("unknown", ("heroku",))
    assert sure.search(Query("run workers with LDAP")).answerable == "unknown"


def test_a_product_that_does_not_mention_it_is_named(pages: Library) -> None:
    asked = found(pages, "How do I run workers on RabbitMQ?", filters=Filters(kind="document", product="fleet"))
    assert (asked.not_mentioned, asked.not_mentioned_in) == (("RabbitMQ",), "in product fleet")
    assert asked.answerable == "unlikely"
    assert found(pages, "How do I run workers on RabbitMQ?").not_mentioned == ()


def test_who_writes_mails_counts_as_held(pages: Library) -> None:
    mails = Filters(kind="email")
    assert named(pages, "what does Okafor say of the queue", filters=mails) == [()]
    asked = found(pages, "did anyone mention RabbitMQ and the queue", filters=mails)
    assert asked.not_mentioned == ("RabbitMQ",)


def test_a_short_question_that_a_title_or_heading_holds_is_never_unlikely(shelve: Callable[..., Library]) -> None:
    titles = ("Install", "Linux", "Consent", "Networking", "Uninstall", "Scale", "Backup plans", "Retry limits")
    library = shelve({f"skiff/guide/{at}.md": f"# {title}\n\nSteps follow.\n" for at, title in enumerate(titles)})
    engine = library.engine()
    for title in titles:
        for text in (title, f"how to {title.lower()}", *title.lower().split()):
            outcome = engine.search(Query(text))
            assert outcome.hits[0].document.document.title == title
            assert outcome.answerable != "unlikely", text
            assert outcome.hits[0].relevance >= 0.5, text


def test_relevance_is_unknown_until_it_is_calibrated(pages: Library) -> None:
    engine = pages.engine(calibration=Calibration(unlikely_below=0.0, yes_from=0.01, provisional_from=3))
    before = engine.search(Query("run workers on kubernetes"))
    assert (before.calibrated, before.answerable) == (False, "unknown")
    assert all(hit.relevance < 0.01 for hit in before.hits)
    engine.use(calibration=Calibration(unlikely_below=0.0, yes_from=0.01))
    after = engine.search(Query("run workers on kubernetes"))
    assert (after.calibrated, after.answerable) == (True, "yes")


_ENDS = string.ascii_letters + string.digits
_WORDS = st.builds(
    "".join, st.tuples(st.sampled_from(_ENDS), st.text(_ENDS + "-_./:", max_size=10), st.sampled_from(_ENDS))
)


@settings(max_examples=15)
@given(st.lists(_WORDS, min_size=1, max_size=4), st.sampled_from(["body", "heading", "path"]))
@example(["Databricks", "readParquet", "RISC-V", "e2e"], "body")
@example(["SIGTERM", "max_retries", "v1.2.3"], "heading")
@example(["aA/a", "max_retries", "maxRetries"], "path")
def test_a_word_that_a_document_holds_is_never_named(words: list[str], place: str) -> None:
    texts = {
        "body": {f"a/b/{at}.md": f"# Page\n\nUse `{word}` here, and {word} too.\n" for at, word in enumerate(words)},
        "heading": {f"a/b/{at}.md": f"# Page\n\n## About {word} here\n\nText.\n" for at, word in enumerate(words)},
        "path": {f"a/b{at}/{word.replace('/', '-')}.md": "# Page\n\nText.\n" for at, word in enumerate(words)},
    }
    asked = [word.replace("/", "-") for word in words] if place == "path" else words
    with TemporaryDirectory() as folder:
        library = Library(Path(folder), texts[place], embed=False)
        try:
            assert named(library, *(f"How do I use {word} there?" for word in asked)) == [()] * len(asked)
        finally:
            library.close()
