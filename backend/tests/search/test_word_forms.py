"""Words that the library holds in another form than they are asked for:

* a part of a compound, in languages that write these as one word
* umlauts spelt as two letters, in either direction
* words with small words attached in front (Arabic, Hebrew); Greek words in -ικός
* the beginning of a word with a `*` behind it
* none of them is corrected, or named as missing
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from librarian.models import Query

from .library import Library

OTHERS = {
    "de": "Hier steht nichts davon, und das ist auch nicht der Ort dafür. Der Text ist nur für die Sprache da.",
    "nl": "Hier staat er niets over, en dat is ook niet de plek. Deze tekst is er alleen voor de taal.",
    "sv": "Här står det ingenting om det, och det är inte heller platsen. Den här texten är bara till för språket.",
    "no": "Her står det ikke noe om det, og det er heller ikke stedet. Denne teksten er bare til for språket.",
    "da": "Her står der ikke noget om det, og det er heller ikke stedet. Denne tekst er kun til for sproget.",
    "fi": "Tässä ei ole siitä mitään, eikä tämä ole sen paikka. Tämä teksti on vain kieltä varten, mutta se on lyhyt.",
    "hu": "Itt nincs róla semmi, és ez nem is az a hely. Ez a szöveg csak a nyelv miatt van itt, de nem hosszú.",
    "ar": "لا يوجد هنا شيء عن ذلك، وهذا ليس المكان المناسب.",
    "he": "אין כאן שום דבר על זה, וזה גם לא המקום.",
    "el": "Εδώ δεν υπάρχει τίποτα γι' αυτό, και δεν είναι το μέρος.",
}
COMPOUNDS = {
    "de": (
        "Die Krankenversicherungskarte gilt auch im Ausland. Der Arbeitszeitnachweis und das Wartungsfenster stehen im"
        " Dienstplan. Bei Stromausfall hilft das Notstromaggregat.",
        (
            "Krankenversicherung",
            "Versicherung",
            "Karte",
            "Arbeitszeit",
            "Nachweis",
            "Wartung",
            "Fenster",
            "Strom",
            "Ausfall",
        ),
    ),
    "nl": (
        "De arbeidsovereenkomst loopt af. Zet de netwerkverbinding aan en lees de installatiehandleiding van de"
        " printerserver voor de ziektekostenverzekering.",
        ("overeenkomst", "netwerk", "verbinding", "installatie", "handleiding", "verzekering"),
    ),
    "sv": (
        "Läs användarhandboken om säkerhetskopiering och lösenordsbyte. Felmeddelandet står i händelseloggen.",
        ("handbok", "säkerhet", "lösenord", "användare", "händelse"),
    ),
    "no": (
        "Les brukerhåndboken om sikkerhetskopiering og passordbytte. Feilmeldingen står i hendelsesloggen.",
        ("håndbok", "sikkerhet", "passord", "bruker", "hendelse"),
    ),
    "da": (
        "Læs brugervejledningen om sikkerhedskopiering og adgangskodeskift. Fejlmeddelelsen står i hændelsesloggen.",
        ("vejledning", "sikkerhed", "adgangskode", "bruger", "hændelse"),
    ),
    "fi": (
        "Varmuuskopiointi tehdään yöllä. Käyttäjätunnus ja salasanakäytäntö ovat asetuksissa, ja virheilmoitus on"
        " tapahtumalokissa.",
        ("varmuus", "käyttäjä", "salasana", "virhe", "tapahtuma"),
    ),
    "hu": (
        "A jelszóváltoztatás és a felhasználónév a beállításokban van. A hibaüzenet az eseménynaplóban, az"
        " adatvédelem a szabályzatban.",
        ("jelszó", "felhasználó", "hiba", "esemény", "adat"),
    ),
}
ATTACHED = {
    "ar": (
        "والإعدادات محفوظة في الخادم، وبالشبكة عطل. للمستخدمين صلاحيات، والتقارير كالجداول.",
        ("الإعدادات", "إعدادات", "الشبكة", "المستخدمين", "التقارير", "الجداول"),
    ),
    "he": (
        "ההגדרות נשמרות בשרת, וברשת יש תקלה. למשתמשים יש הרשאות, והדוחות כטבלאות.",
        ("הגדרות", "שרת", "השרת", "רשת", "משתמשים", "דוחות", "טבלאות"),
    ),
    "el": (
        "Ο προσωπικός φάκελος έχει γενικούς κανόνες. Το ιστορικό και τα τεχνικά στοιχεία είναι δημόσια.",
        ("προσωπικό", "προσωπικοί", "γενικός", "γενικό", "ιστορικός", "τεχνικός", "τεχνικό"),
    ),
}
SPELT = {
    "de": (
        "Die Öffnungszeiten der Küche und die Prüfung der Schlüssel. Der Schluesseldienst kommt am Nachmittag, und die"
        " Gebuehr ist hoch. Die Größe und das Gerät sind gleich.",
        ("Oeffnungszeiten", "Kueche", "Pruefung", "Gebühr", "Groesse", "Geraet", "oeffnungszeiten"),
    ),
    "da": (
        "Åbningstiden står på døren, og færgen er på øen. Det er ikke langt.",
        ("Aabningstiden", "doeren", "faergen"),
    ),
    "sv": ("Åtgärden står i handboken, och det är inte långt till ön för båten.", ("aatgaerden", "baaten", "langt")),
}

Make = Callable[..., Library]


def library_of(shelve: Make, language: str, text: str) -> Library:
    others = {f"box/{language}/{n}.md": f"# {n}\n\n{n}: {OTHERS[language]}\n" for n in range(4)}
    return shelve({f"box/{language}/page.md": f"# 7\n\n{text}\n", **others}, embed=False)


def each(cases: Mapping[str, tuple[str, tuple[str, ...]]]) -> list[tuple[str, str, str]]:
    return [(language, text, word) for language, (text, words) in cases.items() for word in words]


@pytest.mark.parametrize(("language", "text", "word"), [*each(COMPOUNDS), *each(ATTACHED), *each(SPELT)])
def test_a_word_is_found_in_the_form_that_the_library_has(shelve: Make, language: str, text: str, word: str) -> None:
    library = library_of(shelve, language, text)
    found = library.engine().search(Query(word, mode="keyword"))
    assert [hit.document.document.file_path for hit in found.hits][:1] == [f"box/{language}/page.md"]
    assert not found.not_mentioned
    assert not found.rewritten
    assert found.answerable != "unlikely"


def test_a_word_comes_before_its_compounds(shelve: Make) -> None:
    text = "Die Passwortänderung ist nicht schwer, und das Passwortfeld ist oben."
    library = library_of(shelve, "de", text)
    library.put("box/de/own.md", f"# 8\n\nDas Passwort ist nicht hier. {OTHERS['de']}\n")
    library.lexical.commit(library.catalog.bump())
    hits = library.engine().search(Query("Passwort", mode="keyword")).hits
    assert [hit.document.document.file_path for hit in hits] == ["box/de/own.md", "box/de/page.md"]


def test_english_words_are_not_looked_for_inside_others(shelve: Make) -> None:
    library = shelve(
        {"a/b/one.md": "# One\n\nThe network and the framework.\n", "a/b/two.md": "# Two\n\nIt does work.\n"}
    )
    hits = library.engine().search(Query("work", mode="keyword")).hits
    assert [hit.document.document.file_path for hit in hits] == ["a/b/two.md"]


@pytest.mark.parametrize("asked", ["conf*", "kuber* docs", "sched*", "evict*", "Kubern*"])
def test_a_star_stands_for_any_end_of_a_word(shelve: Make, asked: str) -> None:
    page = "# One\n\nThe scheduler of Kubernetes evicts by its configuration.\n"
    library = shelve({"a/b/one.md": page, "a/b/two.md": "# Two\n\nNothing.\n"})
    found = library.engine().search(Query(asked, mode="keyword"))
    assert found.hits[0].document.document.file_path == "a/b/one.md"
    assert not found.not_mentioned


@pytest.mark.parametrize(
    "asked", ["pods NOT docker", 'pods NOT "pods in docker"', "pods -docker", "pods NOT docker NOT tea"]
)
def test_not_leaves_out(shelve: Make, asked: str) -> None:
    library = shelve({"a/b/one.md": "# One\n\nPods in docker.\n", "a/b/two.md": "# Two\n\nPods of peas.\n"})
    hits = library.engine().search(Query(asked, mode="keyword")).hits
    assert [hit.document.document.file_path for hit in hits] == ["a/b/two.md"]


@pytest.mark.parametrize("asked", ["title:pods", "path:shop/api pods", "p?ds", "tag:ops pods", "*ods"])
def test_operators_of_others_are_searched_as_words_with_a_hint(shelve: Make, asked: str) -> None:
    library = shelve({"a/b/one.md": "# One\n\nPods in docker.\n"})
    found = library.engine().search(Query(asked, mode="keyword"))
    assert any("no operator" in str(item["text"]) for item in found.suggestions)
