"""What these tests prove of the analyzer:

* tokens and spans agree, and every span lies in the text;
* nothing makes it raise, and time grows no faster than the text;
* a question and a page that use the same words meet at the same tokens, in every language it stems;
* identifiers stay whole, also give their parts, and are told from prose;
* quotes and minus signs mean what they say and nothing else does;
* it goes to another process and comes back the same.
"""

from __future__ import annotations

import doctest
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.text import analyzer, dictionaries, query_parser, scripts
from librarian.text import language as detection
from librarian.text import tokens as shapes
from librarian.text.analyzer import STEMMERS, StandardAnalyzer

ANALYZER = StandardAnalyzer()
LANGUAGES = ["", "en", "de", "fr", "es", "it", "nl", "pt", "ru", "sv", "ja", "xx"]
NAMES = [
    "read_parquet",
    "readParquet",
    "ReadParquet",
    "ray.data",
    "--all-namespaces",
    "kube-proxy",
    "apps/v1",
    "1.28.3",
    "v2",
    "E1234",
    "k8s",
    "C++",
    "C#",
    "std::vector",
    "@remote",
    "CVE-2024-3094",
    ".env",
    "config.json",
    "localhost:8080",
    "horizontal-pod-autoscaler",
    "__init__",
    "sha256",
]
PROSE = [
    "well-known",
    "up-to-date",
    "state-of-the-art",
    "and/or",
    "read/write",
    "client-side",
    "real-time",
    "e.g.",
    "i.e.",
    "10ms",
    "2nd",
    "10:30",
    "2024-01-15",
    "APIs",
    "Kubernetes",
    "JSON",
    "it's",
    "open-source",
    "end-to-end",
    "42",
    "high-level",
    "_really_",
]
MANUAL = Path(__file__).parents[3] / "docs"
MARKUP = st.text(
    alphabet=st.sampled_from("aAbBcz019_.-/:@+#\\*`'\"()[]<> \n\té́ßж東バﾊﾞ한ᄀ ก\u00ad\u200b"), max_size=200
)
TEXTS = st.one_of(st.text(max_size=200), MARKUP)

# -- properties ----------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES))
def test_tokens_and_spans_agree(text: str, language: str) -> None:
    spans = ANALYZER.spans(text, language)
    assert [span.token for span in spans] == ANALYZER.tokens(text, language)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(span.token and not any(c.isspace() for c in span.token) for span in spans)


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES))
def test_a_text_holds_the_tokens_of_its_pieces_where_they_stand_in_them(text: str, language: str) -> None:
    places, at = ANALYZER.by_piece(language), 0
    expected = []
    for piece in text.split():
        at = text.index(piece, at)
        expected += [(token, at + start, at + end) for token, start, end, _ in places[piece]]
        at += len(piece)
    assert [(span.token, span.start, span.end) for span in ANALYZER.spans(text, language)] == expected


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES))
def test_an_entry_is_the_tokens_joined_and_the_identifiers_also_from_memory(text: str, language: str) -> None:
    fresh = StandardAnalyzer()
    expected = " ".join(fresh.tokens(text, language)), fresh.identifiers(text)
    assert [fresh.entry(text, language), fresh.entry(text, language)] == [expected, expected]


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.lists(st.sampled_from(LANGUAGES), max_size=3))
def test_no_question_makes_it_raise(text: str, languages: list[str]) -> None:
    query = ANALYZER.query(text, languages)
    assert query.text == text
    assert len(set(query.terms)) == len(query.terms)
    assert all(term and not any(c.isspace() for c in term) for term in query.terms)
    ANALYZER.detect(text)


@settings(max_examples=50, deadline=None)
@given(TEXTS)
def test_every_identifier_of_a_question_is_an_identifier_of_the_same_text_and_a_token(text: str) -> None:
    names = ANALYZER.query(text).identifiers
    tokens = set(ANALYZER.tokens(text))
    if '"' not in text and "“" not in text and "-" not in text:
        assert set(names) <= set(ANALYZER.identifiers(text))
        assert set(names) <= tokens


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.sampled_from(["en", "de", "fr", "ru"]))
def test_a_question_asks_for_every_token_of_a_page_that_says_the_same(text: str, language: str) -> None:
    plain = text.replace('"', " ").replace("“", " ").replace("-", " ")
    if detection.detect(plain, needed=1.0) in {"", language}:
        assert set(ANALYZER.tokens(plain, language)) <= set(ANALYZER.query(plain, [language]).terms)


COMPOUNDS = st.lists(
    st.sampled_from(("éA", "é", "xT", "x", "9", "aéB", ".", "_", "-", "/", "::", "ß", "+")), max_size=8
)


@settings(max_examples=50, deadline=None)
@given(COMPOUNDS, st.integers(1, 150))
def test_a_compound_of_any_length_comes_apart_into_short_parts_at_their_places(pieces: list[str], times: int) -> None:
    raw = "".join(piece * times if piece.isalpha() else piece for piece in pieces)
    for part in shapes.dissect(raw, 7):
        assert 0 < len(part.text) <= shapes.LONGEST
        assert 7 <= part.start < part.end <= len(raw) + 7


@settings(max_examples=30, deadline=None)
@given(TEXTS)
def test_a_remembered_piece_gives_what_a_fresh_analyzer_gives(text: str) -> None:
    ANALYZER.tokens(text)
    assert ANALYZER.tokens(text) == StandardAnalyzer().tokens(text)
    assert ANALYZER.identifiers(text) == StandardAnalyzer().identifiers(text)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=200), st.integers(1, 12))
def test_a_memory_keeps_its_bound(asked: list[int], most: int) -> None:
    worked: list[str] = []

    def work(piece: str) -> str:
        worked.append(piece)
        return piece.upper()

    memory = analyzer._Memory(work, most)
    for number in asked:
        assert memory["often"] == "OFTEN"
        assert memory[f"p{number}"] == f"P{number}"
        assert len(memory) <= most
    if len(set(asked)) < most:
        assert len(worked) == len(set(worked))


# -- identifiers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case", ["snake_case", "snake", "case"]),
        ("camelCase", ["camelcase", "camelcas", "camel", "case"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("StatefulSets", ["statefulsets", "statefulset", "state", "set"]),
        ("ray.data.read_parquet()", ["ray.data.read_parquet", "ray", "data", "read_parquet", "read", "parquet"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("--dry-run", ["--dry-run", "dry-run", "dri", "run"]),
        ("`kube-apiserver`,", ["kube-apiserver", "kube", "apiserv"]),
        ("C++", ["c++"]),
        ("C#.", ["c#"]),
        ("@ray.remote", ["@ray.remote", "ray.remote", "ray", "remot"]),
        ("v1.28.3", ["v1.28.3", "1.28.3", "1.28", "28"]),
        ("k8s", ["k8s"]),
        ("E1234:", ["e1234", "1234"]),
        ("(a/b)", ["a/b"]),
        ("/etc/hosts", ["etc/hosts", "host"]),
        ("__init__.py", ["__init__.py", "__init__", "init", "py"]),
        ("_emphasis_ **bold**", ["emphasi", "bold"]),
        ("e-mail", ["e-mail", "email", "mail"]),
        ("https://kubernetes.io/docs", ["kubernetes.io/docs", "kubernetes.io", "kubernet", "io", "doc"]),
        ("APIs JSON Pods", ["api", "json", "pod"]),
        ("2024 7", ["2024", "7"]),
        ("don't it's the users'", ["user"]),
    ],
)
def test_a_compound_gives_itself_and_its_parts(text: str, expected: list[str]) -> None:
    assert ANALYZER.tokens(text) == expected


@pytest.mark.parametrize("name", NAMES)
def test_names_are_identifiers(name: str) -> None:
    assert ANALYZER.query(f"what does {name} do").identifiers == (name.lower(),)
    assert name.lower() in ANALYZER.identifiers(f"Use `{name}`, (see {name}).")


@pytest.mark.parametrize("word", PROSE)
def test_prose_is_no_identifier(word: str) -> None:
    assert ANALYZER.query(f"this is {word} of it").identifiers == ()


@pytest.mark.parametrize("word", [word for word in PROSE if re.fullmatch("[a-z]{2,}([-/][a-z]+)+", word)])
def test_compounds_of_prose_are_names_where_a_question_marks_them_only(word: str) -> None:
    for written in (word, word.title(), f"({word})", f"“{word}”"):
        assert ANALYZER.query(f"this is {written} of it").identifiers == ()
    assert ANALYZER.query(f"this is `{word}` of it").identifiers == (word,)
    assert word in ANALYZER.identifiers(f"this is {word} of it")


@pytest.mark.parametrize(
    "name",
    [
        "/etc/hosts", "/proc/self/maps", "/home/user", "/run/lock", "X-Forwarded-For", "If-None-Match", "Retry-After",
        "Set-Cookie", "User-Agent", "`no-cache`", "`log-level`", "`if-not-present`", "`read/write`",
    ],
)  # fmt: skip
def test_words_of_prose_make_a_name_as_a_path_a_header_or_code(name: str) -> None:
    inner = name.strip("`").lstrip("/").lower()
    for question in (name, f"what does {name} say?", f"({name}), once more"):
        assert ANALYZER.query(question).identifiers == (inner,)
    for page in (f"as {name} says.", f"{name}: 7", inner):
        assert inner in ANALYZER.identifiers(page)


@pytest.mark.parametrize("text", ["2026-01-02", "10:30", "1/2", "e.g", "A/B"])
def test_dates_times_and_abbreviations_are_nobodys_names(text: str) -> None:
    assert ANALYZER.identifiers(f"it is {text} here") == []
    assert ANALYZER.query(f"`{text}`").identifiers == ()


def test_a_page_answers_for_both_ends_of_its_dotted_names_and_paths() -> None:
    names = ANALYZER.identifiers("call ray.data.read_parquet from src/jobs/main/run.py")
    assert {"ray.data.read_parquet", "data.read_parquet", "read_parquet", "main/run.py", "run.py"} <= set(names)
    assert {"ray.data", "src/jobs", "src/jobs/main"} <= set(names)
    assert "1.28" in ANALYZER.identifiers("since v1.28.3")
    assert "28.3" not in ANALYZER.identifiers("since v1.28.3")


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("example.org/not-ready", "tolerates example.org/not-ready:NoExecute"),
        ("library/nginx", "run registry.example.org/library/nginx:1.25"),
        ("batch/v1", "POST /apis/batch/v1/namespaces"),
        (".bazelrc", "a line of ~/.bazelrc"),
        (".kube/config", "in $HOME/.kube/config"),
        ("127.0.0.1:9443", 'url: "https://127.0.0.1:9443/convert"'),
        ("10.0.0.1", "at 10.0.0.1:6443"),
        ("10.244.0.0/16", "a range such as 10.244.0.0/16"),
    ],
)
def test_a_page_answers_for_a_name_inside_a_longer_one(asked: str, written: str) -> None:
    (name,) = ANALYZER.query(f"`{asked}`").identifiers
    assert name == asked
    assert name in ANALYZER.identifiers(written)
    assert ANALYZER.entry(written)[1] == ANALYZER.identifiers(written)


def test_a_machine_is_another_one_at_another_port() -> None:
    assert "127.0.0.1:9443" not in ANALYZER.identifiers("at 127.0.0.1 or 127.0.0.1:80")


# -- languages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "page", "question"),
    [
        ("en", "The controllers are restarting the crashed containers.", "restart crashing container controller"),
        ("de", "Die Häuser und die Übersetzungen werden installiert.", "Haus Übersetzung"),
        ("fr", "Les utilisateurs redémarrent les serveurs installés.", "utilisateur redémarrent serveur installer"),
        ("es", "Las configuraciones de los servidores instalados.", "configuración servidor instalado"),
        ("it", "Le configurazioni dei servizi installati.", "configurazione servizio installato"),
        ("nl", "De gebruikers installeren de bestanden.", "gebruiker installeren bestand"),
        ("pt", "As configurações dos servidores instalados.", "configuração servidor instalado"),
        ("ru", "Настройки серверов и установленные программы.", "настройка сервер программа"),
        ("sv", "Användarna installerar inställningarna.", "användare installera inställning"),
    ],
)
def test_a_question_meets_its_page_whatever_the_endings(language: str, page: str, question: str) -> None:
    assert ANALYZER.detect(page) in {language, ""}
    query = ANALYZER.query(question, [language])
    assert set(query.terms) - set(query.other_stems) <= set(ANALYZER.tokens(page, language))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I restart the pod when it is not ready?", "en"),
        ("Wie starte ich den Pod neu, wenn er nicht bereit ist?", "de"),
        ("Comment redémarrer le pod quand il ne répond pas dans les délais ?", "fr"),
        ("¿Cómo se reinicia el pod cuando no está listo para los usuarios?", "es"),
        ("Come si riavvia il pod quando non è più pronto per gli utenti?", "it"),
        ("Hoe start ik de pod opnieuw als het niet werkt?", "nl"),
        ("Como você reinicia o pod quando não está pronto?", "pt"),
        ("Как мне перезапустить под, если он не готов?", "ru"),
        ("Hur startar jag om podden när den inte är redo?", "sv"),
        ("ポッドを再起動する方法", "ja"),
        ("如何重新启动容器", "zh"),
        ("파드를 다시 시작하는 방법", "ko"),
        ("วิธีรีสตาร์ท", "th"),
        ("كيف أعيد تشغيل الحاوية", "ar"),
        ("Як перезапустити під і його контейнери", "uk"),
        ("nginx redis postgres", ""),
        ("", ""),
        ("```\nder die das und\n```", ""),
        ("12:30 – 14:00, 15 %", ""),
    ],
)
def test_the_language_is_told_by_script_and_stop_words(text: str, language: str) -> None:
    assert ANALYZER.detect(text) == language


def test_accents_make_no_difference() -> None:
    assert ANALYZER.tokens("résumé re\u0301sume\u0301 RESUME") == ["resum"] * 3
    assert ANALYZER.tokens("ＦＵＬＬ data\u00adbase") == ["full", "databas"]
    assert ANALYZER.query("ubersetzung fur hauser", ["de"]).terms[0] == ANALYZER.tokens("Übersetzung", "de")[0]


@pytest.mark.parametrize(
    "text", ["getUserName()", "k8s-proxy", "StatefulSets", "/etc/hosts", "Vorgaben", "東京都の設定"]
)
@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\u2060"])
def test_what_nobody_sees_in_a_word_makes_no_difference(text: str, unseen: str) -> None:
    """Names have their parts, and all places are of the text as it is."""
    strewn = unseen.join(text)
    assert ANALYZER.entry(strewn) == ANALYZER.entry(text)
    found = [(span.token, strewn[span.start : span.end].replace(unseen, "")) for span in ANALYZER.spans(strewn)]
    assert found == [(span.token, text[span.start : span.end]) for span in ANALYZER.spans(text)]
    assert ANALYZER.query(strewn).identifiers == ANALYZER.query(text).identifiers


@pytest.mark.parametrize(
    ("text", "typed", "language"),
    [
        ("configuração", "configuracao", "pt"),
        ("données", "donnees", "fr"),
        ("bağlantılar", "baglantilar", "tr"),
        ("klikněte", "kliknete", "cs"),
        ("returnează", "returneaza", "ro"),
    ],
)
def test_a_word_whose_stem_depends_on_accents_is_found_with_and_without_them(
    text: str, typed: str, language: str
) -> None:
    indexed, plain = ANALYZER.tokens(f"({text})", language), ANALYZER.tokens(typed, language)
    assert len(indexed) == 2
    for stored, asked in ((indexed, typed), (plain, text), (indexed, text)):
        assert not set(stored).isdisjoint(ANALYZER.query(asked, [language]).terms)
    assert {ANALYZER.query(typed, [language]).other_stems, ANALYZER.query(text, [language]).other_stems} == {
        (),
        (indexed[1],),  # which counts less in a question that writes the accents
    }
    assert {(span.start, span.end) for span in ANALYZER.spans(f"({text})", language)} == {(1, 1 + len(text))}


def test_scripts_without_spaces_become_bigrams() -> None:
    assert ANALYZER.tokens("東京都の設定") == ["東京", "京都", "都の", "の設", "設定"]
    assert ANALYZER.tokens("水") == ["水"]
    assert ANALYZER.tokens("Kubernetesの設定") == ["kubernet", "の設", "設定"]
    assert ANALYZER.tokens("한국어") == ["한국", "국어"]
    assert ANALYZER.tokens("ﾊﾞﾅﾅ") == ANALYZER.tokens("バナナ")
    assert len(ANALYZER.tokens("ภาษาไทย")) > 2
    assert ANALYZER.spans("の設定")[1].start == 1
    assert ANALYZER.tokens("config.jsonを開く")[0] == "config.jsonを開く"
    assert {"config", "json"} <= set(ANALYZER.tokens("config.jsonを開く"))


def test_arabic_is_written_one_way() -> None:
    assert ANALYZER.tokens("أحمد", "xx") == ANALYZER.tokens("احمد", "xx")


def test_a_question_for_two_languages_is_stemmed_for_both() -> None:
    terms = ANALYZER.query("kubernetes pods", ["en", "de"]).terms
    assert set(ANALYZER.tokens("kubernetes pods", "en")) | set(ANALYZER.tokens("kubernetes pods", "de")) == set(terms)


def test_the_question_s_own_stop_words_are_dropped() -> None:
    assert ANALYZER.query("wie starte ich den Pod neu", ["en", "de"]).terms == ("start", "pod", "neu")


@pytest.mark.parametrize("languages", [["en"], ["en", "it", "fr", "de"]])
@pytest.mark.parametrize("word", ["state", "comment", "bin", "io"])
def test_a_word_that_another_language_leaves_out_is_asked_for(word: str, languages: list[str]) -> None:
    assert word in ANALYZER.query(f"terraform {word}", languages).terms


# -- questions -----------------------------------------------------------------------------------------------------


def test_parts_of_names_tell_no_language() -> None:
    stub = "``celery.bin.amqp``\n=====\n\n.. currentmodule:: celery.bin.amqp\n.. automodule:: celery.bin.amqp\n"
    assert ANALYZER.detect(stub.replace("`", "")) == ""
    assert ANALYZER.detect('token := os.Getenv("TOKEN")\nimport ("os"; "github.com/a/b"; "gitlab.com/a/c")') == ""
    assert ANALYZER.detect(f"{stub}\nDas ist der Befehl, mit dem die Warteschlangen verwaltet werden.") == "de"


@pytest.mark.parametrize(
    "text",
    [
        "Comment on Paging\n# Comment on a Paging Anomaly",
        "Chi-Square Quantiles\n# Chi-Square Quantiles",
        "## Resource Types\n" + "- [AuthConfig](#k8s-io-v1-AuthConfig)\n## Pod {#k8s-io-v1-Pod}\n" * 9,
        "PRIino and bei\n" + "ino_t bei\n" * 20,
    ],
)
def test_one_word_tells_no_other_language_however_often_it_stands_there(text: str) -> None:
    assert ANALYZER.detect(text) in {"", "en"}


def test_quotes_make_phrases() -> None:
    query = ANALYZER.query('restart "rolling update" of “stateful sets” now')
    assert query.phrases == (("roll", "updat"), ("state", "set"))
    assert query.terms == ("restart", "roll", "updat", "state", "set")


def test_a_minus_before_a_word_excludes() -> None:
    query = ANALYZER.query("containers -docker --flag -f well-known -or- a - b 3 -4 -kube-proxy")
    assert query.excluded == ("docker", "kube-proxy")
    assert "docker" not in query.terms
    assert "--flag" in query.identifiers
    assert query.wanted.split() == ["containers", "--flag", "-f", "well-known", "-or-", "a", "-", "b", "3", "-4"]
    assert ANALYZER.query("-docker").wanted == "-docker"


def test_a_minus_before_quotes_excludes_their_words_in_this_order() -> None:
    query = ANALYZER.query('containers -"rolling updates" -“docker” restart')
    assert query.excluded_phrases == (("roll", "updat"),)
    assert query.excluded == ("docker",)
    assert query.phrases == ()
    assert query.terms == ("contain", "restart")
    assert query.wanted.split() == ["containers", "restart"]
    assert ANALYZER.query('containers -"rolling updates"', ["en", "de"]).excluded_phrases == (
        ("roll", "updat"),
        ("rolling", "updat"),
    )


def test_a_minus_before_quotes_of_one_telling_word_excludes_nothing() -> None:
    query = ANALYZER.query('containers -"how to install"')
    assert not query.excluded
    assert not query.excluded_phrases


def test_an_excluded_run_without_blanks_is_excluded_as_a_whole() -> None:
    query = ANALYZER.query("响应式 -组件基础", ["zh"])
    assert query.excluded_phrases == (("组件", "件基", "基础"),)
    assert ANALYZER.query("响应式 -组件", ["zh"]).excluded == ("组件",)


@pytest.mark.parametrize(
    "text",
    [
        "lock-file",
        "kube-proxy",
        "e-mail",
        "X-Forwarded-For",
        "uv --no-build-isolation",
        "well-known",
        "v-model 组件-基础",
    ],
)
@pytest.mark.parametrize("hyphen", ["\u2010", "\u2011"])
def test_the_hyphens_of_word_processors_are_hyphens(text: str, hyphen: str) -> None:
    typeset = text.replace("-", hyphen)
    assert ANALYZER.entry(typeset) == ANALYZER.entry(text)
    assert ANALYZER.spans(typeset) == ANALYZER.spans(text)
    asked, typed = ANALYZER.query(typeset), ANALYZER.query(text)
    assert (asked.terms, asked.identifiers) == (typed.terms, typed.identifiers)


def test_a_minus_in_quotes_is_text() -> None:
    assert ANALYZER.query('"a -docker b" pods').excluded == ()


def test_a_question_that_only_excludes_is_read_as_text() -> None:
    assert ANALYZER.query("-docker").terms == ("docker",)
    assert ANALYZER.query("-docker").excluded == ()


def test_contractions_count_for_nothing_with_and_without_their_apostrophe() -> None:
    assert ANALYZER.query("whats wrong, why wouldnt a pod start if it isnt pending").terms == (
        ANALYZER.query("what's wrong, why wouldn't a pod start if it isn't pending").terms
    )


def test_stop_words_stay_where_nothing_else_is_asked() -> None:
    assert ANALYZER.query("to be or not to be").terms == ("to", "be", "or", "not")
    assert ANALYZER.query("to be or not to be").common
    assert not ANALYZER.query("to be or not to be a pod").common


def test_a_quoted_phrase_of_stop_words_demands_nothing() -> None:
    query = ANALYZER.query('"to be" of “how to” and "the pods" "..."')
    assert query.phrases == (("pod",),)
    assert ANALYZER.query("what is a pod").terms == ("pod",)


@pytest.mark.parametrize(
    ("language", "text", "token"),
    [
        ("pl", "Jak skonfigurować serwer, który nie odpowiada, jeśli pliki są już na dysku?", "plik"),
        ("cs", "Jak nastavit server, který neodpovídá, když jsou soubory již na disku?", "soubor"),
        ("tr", "Bu sayfa, sunucunun yanıt vermediği durumda dosyaları nasıl yükleyeceğinizi ve neden gerektiğini "
               "anlatır; sunucu için daha fazla bilgi de var.", "dosya"),
        ("hu", "Hogyan kell beállítani a szervert, ha nem válaszol, és a fájlok már a lemezen vannak?", "lemez"),
        ("ro", "Cum se configurează serverul care nu răspunde, dacă fișierele sunt deja pe disc?", "disc"),
        ("id", "Bagaimana cara mengatur server yang tidak menjawab jika berkas itu sudah ada di dalam disk?", "berkas"),
        ("vi", "Làm thế nào để cài đặt máy chủ khi các tệp đã có trên đĩa và không được tải lên?", "tep"),
    ],
)  # fmt: skip
def test_more_languages_of_latin_letters_are_told_and_stemmed(language: str, text: str, token: str) -> None:
    assert ANALYZER.detect(text) == language
    tokens = ANALYZER.tokens(text, language)
    assert token in tokens
    assert len(tokens) < len(ANALYZER.tokens(text))  # its stop words are left out


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Når du har åbnet en note, kan du vælge den visning, som du vil bruge, og derefter gemme den i din mappe. "
         "Hvis der ikke er nogen mappe, bliver den oprettet.", "da"),
        ("Når du har åpnet et notat, kan du velge den visningen du vil bruke, og deretter lagre det i mappen. "
         "Hvis det ikke er noen mappe, blir den opprettet.", "no"),
        ("Quan obres una nota amb aquesta ordre, pots triar la vista que vols i desar-la dins de la carpeta dels teus "
         "fitxers, però no cal.", "ca"),
        ("Keď otvoríte poznámku týmto príkazom, môžete si vybrať zobrazenie, ktoré chcete, alebo ju uložiť.", "sk"),
        ("Obsidian'ı ve Python'a dosyaları kurun, yeni bir not ekleyin ve bu not için Obsidian'da sayfa seçin.", "tr"),
        ("Когато отворите бележката с тази команда, може да изберете изглед, който искате, или да я запазите.", "bg"),
        ("Када отворите белешку овом наредбом, можете да изаберете приказ који желите.", "sr"),
        ("Кога ќе ја отворите белешката со оваа наредба, можете да го изберете приказот што го сакате.", "mk"),
        ("Калі вы адчыніце нататку гэтай камандай, вы зможаце выбраць выгляд і захаваць яго ў каталог.", "be"),
        ("Подъезд к объекту: как объединить объекты", "ru"),
        ("এই আদেশ দিয়ে নোট খুলুন", "bn"),
        ("यह पृष्ठ बताता है कि सर्वर को कैसे स्थापित करें और फ़ाइलें कहाँ रखी जाती हैं।", "hi"),
        ("यो पृष्ठले सर्भर कसरी स्थापना गर्ने र फाइलहरू कहाँ राखिन्छ भन्ने बताउँछ। तपाईं यसलाई पनि प्रयोग गर्न सक्नुहुन्छ।", "ne"),
        ("सर्व्हर कसा स्थापित करायचा आणि फाइल्स कुठे ठेवल्या जातात हे या पानावर सांगितले आहे.", "mr"),
        ("सर्वर स्थापना", "hi"),
        ("இந்த கட்டளை மூலம் குறிப்பைத் திறக்கவும்", "ta"),
        ("Բացեք նշումը այս հրամանով", "hy"),
        ("បើកកំណត់ចំណាំដោយប្រើពាក្យបញ្ជានេះ", "km"),
        ("გახსენით ჩანაწერი ამ ბრძანებით", "ka"),
    ],
)  # fmt: skip
def test_relatives_are_told_apart_and_scripts_of_one_language_tell_it(text: str, language: str) -> None:
    assert ANALYZER.detect(text) == language


@pytest.mark.parametrize("text", ["Deploy the Pod to a node.", "no, do it on a pod", "CA size is set for a var in EU"])
def test_short_english_is_no_other_language(text: str) -> None:
    assert ANALYZER.detect(text) in {"en", ""}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("English | Українська | Русский\n\nЭта страница объясняет, как вызывать функции и обновлять данные.", "ru"),
        ("На цій сторінці пояснено, як оновити дані (рос. объём) і чому їх слід перевіряти.", "uk"),
        ("العربية | فارسی | پارسی\n\nتشرح هذه الصفحة كيفية إعداد الخادم وتحديث المكتبة في بيئة الإنتاج.", "ar"),
        ("این صفحه توضیح می‌دهد که چگونه سرور را پیکربندی کنید و کتابخانه‌ها را به‌روز نگه دارید.", "fa"),
    ],
)
def test_a_page_that_names_another_language_in_its_letters_stays_its_own(text: str, language: str) -> None:
    assert ANALYZER.detect(text) == language


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("hi", "फ़ाइल", "फाइल"),
        ("hi", "पाँच", "पांच"),
        ("hi", "४०४", "404"),
        ("ar", "٤٠٤", "404"),
        ("fa", "۴۰۴", "404"),
        ("fa", "فایل‌ها", "فایل"),
        ("hi", "हिन्दी", "हिंदी"),
        ("hi", "सम्पर्क", "संपर्क"),
        ("he", "שָׁלוֹם", "שלום"),
        ("ru", "тёмно-серый", "темно-серый"),
        ("uk", "зʼєднання", "з'єднання"),
        ("uk", "обʼєкт", "об’єкт"),
    ],
)
def test_one_word_in_two_spellings_is_one(language: str, one: str, other: str) -> None:
    assert ANALYZER.tokens(one, language) == ANALYZER.tokens(other, language) != []


@pytest.mark.parametrize(
    ("language", "text", "named"),
    [
        ("fr", "Qu'est-ce que CORS ?", ()),
        ("fr", "Comment dois-je configurer kube-proxy ?", ("kube-proxy",)),
        ("fr", "Y a-t-il un moyen de tester ?", ()),
        ("ru", "почему из-за него не работает kube-proxy", ("kube-proxy",)),
    ],
)
def test_words_that_a_sentence_hyphenates_are_no_names(language: str, text: str, named: tuple[str, ...]) -> None:
    query = ANALYZER.query(text, [language])
    assert query.identifiers == named
    assert [term for term in query.terms if "-" in term] == list(named)


def test_where_no_dictionary_is_at_hand_no_word_has_edits() -> None:
    assert ANALYZER.edits("resim", ["tr"]) == {} == ANALYZER.edits("розбити", ["uk", "en"])
    assert ANALYZER.edits("recieve", ["en", "tr"])


def test_words_hold_everything_that_was_said() -> None:
    assert ANALYZER.query("What is Ray.data for?").words == ("what", "is", "ray.data", "for")


BOMBS = ['"', "“", "-a", "a.", "a_", "1.", "aA", "--", "://", "__", "a", "東", "é", "a-", "v1.", "e\u0301"]


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.no_cover
def test_hostile_questions_are_answered_at_once(bomb: str) -> None:
    started = time.thread_time()
    bomb *= 2000 // len(bomb)
    for text in (bomb, "x " + bomb, bomb * 20):
        ANALYZER.query(text, ["en", "de", "fr"])
        ANALYZER.tokens(text)
        ANALYZER.identifiers(text)
    assert time.thread_time() - started < 3


# -- the object ----------------------------------------------------------------------------------------------------


def test_it_travels_between_processes() -> None:
    twin = pickle.loads(pickle.dumps(StandardAnalyzer(min_length=3)))
    assert twin.min_length == 3
    assert twin.fingerprint == StandardAnalyzer(min_length=3).fingerprint != ANALYZER.fingerprint
    assert twin.tokens("go to the pods") == ["pod"]


def test_threads_share_it() -> None:
    shared = StandardAnalyzer()
    words = [f"running{i % 97}s controllers restarting{i}ly" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.tokens, words))
    assert found == [StandardAnalyzer().tokens(text) for text in words]


def test_every_named_stemmer_exists_or_is_left_out() -> None:
    for language in STEMMERS:
        assert ANALYZER.tokens("kubernetes", language)


@pytest.mark.parametrize("module", [analyzer, detection, query_parser, dictionaries, scripts, shapes])
def test_the_examples_in_the_docstrings_are_true(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
