"""Libraries of a few documents, which have no calibration of their own:

* a title as the question brings its document first, and is never `unlikely` to be answered
* neither is a single word of a title
* a single word brings the few documents that hold it first
* words that nothing holds stay `unlikely`
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Mode, Query

from .library import Library

#: Kind of library → file path → (title, text). Other pages say a title's words more often than its own.
LIBRARIES: dict[str, dict[str, tuple[str, str]]] = {
    "runbooks": {
        "ops/run/cache.md": ("Token cache", "Flush it by hand."),
        "ops/run/trouble.md": (
            "Troubleshooting part 0",
            "A token cache may be stale. Clear the token cache, then the cache.",
        ),
        "ops/run/tips.md": ("Token cache troubleshooting and token tips", "Token, token, cache."),
        "ops/run/linux.md": ("Install Skiff on Linux", "Unpack the archive."),
        "ops/run/macos.md": ("Install Skiff on macOS", "Install the image. To install again, install over it."),
    },
    "German handbook": {
        "amt/buch/urlaub.md": ("Urlaub beantragen", "Der Antrag geht an die Leitung und wird nicht sofort bewilligt."),
        "amt/buch/reise.md": (
            "Reisekosten",
            "Wer Urlaub beantragen will, darf die Reisekosten nicht mit dem Urlaub mischen.",
        ),
        "amt/buch/schluessel.md": (
            "Schlüssel und Türen",
            "Die Schlüssel liegen bei der Pforte, und die Türen sind zu.",
        ),
        "amt/buch/groesse.md": ("Größe der Räume", "Die Räume sind von der Größe her alle gleich."),
    },
    "French recipes as text": {
        "cuisine/plats/soupe.txt": ("Soupe à l'oignon", "Faire revenir les oignons dans le beurre."),
        "cuisine/plats/tarte.txt": (
            "Tarte aux pommes",
            "La soupe à part, la tarte est le plat des pommes de la saison.",
        ),
        "cuisine/plats/creme.txt": ("Crème brûlée", "Brûler le sucre sur la crème avec une tarte aux pommes à côté."),
    },
    "Japanese notes": {
        "memo/a/settei.md": ("設定の変更", "設定を変更するには、管理画面を開きます。"),
        "memo/a/kensaku.md": ("検索の使い方", "検索の設定の変更は、設定の変更のページにあります。"),
        "memo/a/backup.md": ("バックアップ", "毎晩バックアップを取ります。"),
    },
    "Russian guide": {
        "kniga/a/ustanovka.md": ("Установка сервера", "Скачайте пакет и запустите его."),
        "kniga/a/nastroika.md": (
            "Настройка",
            "После установки сервера нужна настройка сервера, установка сервера её не делает.",
        ),
        "kniga/a/oshibki.md": ("Частые ошибки", "Настройка и установка дают ошибки."),
    },
    "web pages": {
        "site/api/auth.html": ("Authentication", "Send the key in a header."),
        "site/api/errors.html": (
            "Errors and limits",
            "Authentication errors: authentication failed, authentication expired.",
        ),
        "site/api/webhooks.html": ("Webhooks", "Errors of webhooks are sent again, within limits."),
        "site/api/index.html": ("Overview", "Authentication, errors and limits, webhooks."),
    },
    "AsciiDoc manual": {
        "pump/doc/start.adoc": ("Getting started", "Connect the pump."),
        "pump/doc/stop.adoc": ("Emergency stop", "Getting started again after an emergency stop takes a key."),
        "pump/doc/care.adoc": ("Care and cleaning", "Stop the pump before cleaning; an emergency is no care."),
    },
    "release notes": {
        "app/news/1.1.md": ("Release 1.1", "Faster start than 1.0."),
        "app/news/1.10.md": ("Release 1.10", "Fixes of release 1.1 and release 1.9."),
        "app/news/2.0.md": ("Release 2.0", "Replaces release 1.1 and release 1.10."),
    },
    "notes of a developer": {
        "notes/lang/cpp.md": ("C++", "Templates and values."),
        "notes/lang/c.md": ("C", "Pointers. Much of C++ is C."),
        "notes/lang/csharp.md": ("C#", "Not C and not C++."),
        "notes/lang/dotnet.md": (".NET", "Runs C#."),
        "notes/lang/readme.md": ("Read me first", "C, C++, C# and .NET."),
    },
    "titles of common words": {
        "club/site/about.md": ("About", "Founded by two sailors."),
        "club/site/how-to.md": ("How to", "Ask at the harbour."),
        "club/site/what.md": ("What is this?", "A club."),
        "club/site/all.md": ("All", "About all that there is, and how to get there."),
    },
    "Spanish rules": {
        "reglas/a/pagos.md": ("Política de devolución", "El plazo es de treinta días para todos los clientes."),
        "reglas/a/envios.md": ("Envíos", "La política de devolución no cambia los envíos, que son de la tienda."),
        "reglas/a/tienda.md": ("Tienda y horario", "La tienda abre a las nueve."),
    },
    "one document": {"alone/a/only.md": ("The only page", "It says little.")},
    "tables and text": {
        "shop/data/prices.csv": ("prices", "item,price\npear,2\napple,3\n"),
        "shop/data/stock.md": ("Stock", "Prices of the stock are in the list of prices."),
        "shop/data/list.txt": ("Shopping list", "Pears, apples, prices."),
    },
}

Make = Callable[..., Library]


def written(file_path: str, title: str, text: str) -> str:
    if file_path.endswith(".html"):
        return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    if file_path.endswith(".csv"):
        return text
    if file_path.endswith(".txt"):
        return f"{title}\n{'=' * len(title)}\n\n{text}\n"
    return f"{'=' if file_path.endswith('.adoc') else '#'} {title}\n\n{text}\n"


@pytest.fixture(params=LIBRARIES, ids=list(LIBRARIES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def library(kind: str, shelve: Make) -> Library:
    return shelve({path: written(path, title, text) for path, (title, text) in LIBRARIES[kind].items()})


@pytest.mark.parametrize("mode", ["keyword", "auto"])
def test_a_title_brings_its_document_first_and_is_never_unlikely(library: Library, kind: str, mode: Mode) -> None:
    engine = library.engine()
    for path, (title, _) in LIBRARIES[kind].items():
        for question in (title, title.lower(), f"{title}?"):
            found = engine.search(Query(question, mode=mode))
            assert found.hits, question
            assert found.hits[0].document.document.file_path == path, question
            assert found.answerable != "unlikely", question
            assert found.hits[0].relevance >= 0.5, question


@pytest.mark.parametrize("mode", ["keyword", "auto"])
def test_a_word_of_a_title_is_never_unlikely(library: Library, kind: str, mode: Mode) -> None:
    engine = library.engine()
    for title, _ in LIBRARIES[kind].values():
        for word in title.split():
            asked = library.analyzer.query(word, library.catalog.columns().languages())
            if not asked.common and library.lexical.frequencies(asked.terms):
                assert engine.search(Query(word, mode=mode)).answerable != "unlikely", word


def test_a_single_word_brings_the_few_documents_that_hold_it_first(shelve: Make) -> None:
    near = {f"a/b/{n}.md": f"# Page {n}\n\nDeploy the release number {n} by a rollout.\n" for n in range(14)}
    far = "# Harbour\n\nWe drink tea at four, talk of the weather and of the sea, and now and then a ship comes in.\n"
    found = shelve({**near, "a/b/harbour.md": far}).engine().search(Query("ship", mode="hybrid"))
    assert found.hits[0].document.document.title == "Harbour"
    assert len(found.hits) > 1


def test_words_that_nothing_holds_stay_unlikely(library: Library) -> None:
    assert library.engine().search(Query("zzzqqq xyzzyx", mode="keyword")).answerable == "unlikely"
