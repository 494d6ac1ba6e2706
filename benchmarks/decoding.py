# ruff: noqa: E501 - sentences stay on few lines
"""Which library tells encodings best: chardet, charset-normalizer, or what the reading room makes of them.

    python benchmarks/decoding.py [folder with text files in known encodings]

Pieces of text in nineteen languages are written in the legacy encodings of their languages and read again; a piece is
right where the text comes back as it was. Prints a table for benchmarks/RESULTS.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.parsing.encoding import decode

#: Language → (encodings, sentences written for this purpose).
TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "German": (
        ("cp1252", "mac_roman", "cp850"),
        "Größe, Übergänge und Maße prüft der Dienst beim Hochfahren. Fällt ein Gerät aus, übernimmt ein anderes. "
        "Schlüssel müssen jährlich erneuert werden; ältere lösche man gründlich. Die Straße ist für Lastwagen gesperrt. ",
    ),
    "French": (
        ("cp1252", "mac_roman", "iso8859-15"),
        "Le système vérifie les clés à chaque démarrage. Où se trouve la clé du château ? L'élève a reçu une réponse très "
        "précise, même après plusieurs années. Ça dépend des règles définies par l'équipe. ",
    ),
    "Spanish": (
        ("cp1252",),
        "El año pasado la contraseña caducó sin aviso. ¿Cuándo se actualizó la configuración? El servidor está en España, "
        "según la última revisión técnica. Los niños comían piñones en la montaña. ",
    ),
    "Portuguese": (
        ("cp1252",),
        "A configuração não está concluída. Às vezes a conexão é lenta e o usuário não vê a razão. São três opções: "
        "pão, maçã ou limão. Há informações úteis na página de ajuda. ",
    ),
    "Swedish": (
        ("cp1252",),
        "Åtkomsten är spärrad för användare utan nyckel. Där står också hur man ändrar lösenordet. På ön växer små äpplen "
        "och gröna päron under sommaren. ",
    ),
    "Polish": (
        ("cp1250", "iso8859-2"),
        "Usługa sprawdza ważność kluczy przy każdym uruchomieniu. Źle ustawione żądanie kończy się błędem. Łódź płynęła "
        "wzdłuż brzegu, a mężczyzna śpiewał pieśń o życiu. ",
    ),
    "Czech": (
        ("cp1250", "iso8859-2"),
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Server ověřuje klíče při každém spuštění. Změna nastavení se projeví až po "
        "restartu služby, což může chvíli trvat. ",
    ),
    "Hungarian": (
        ("cp1250",),
        "A kiszolgáló minden induláskor ellenőrzi a kulcsokat. Az őszi erdőben sétáló nők énekeltek. A beállítások "
        "módosítása újraindítást igényel, ezért kérjük, várjon türelemmel. ",
    ),
    "Russian": (
        ("cp1251", "koi8-r", "cp866", "iso8859-5"),
        "Сервер проверяет ключи при каждом запуске. Если устройство не отвечает, его заменяет другое. Настройки вступают в "
        "силу после перезагрузки службы. Вчера мы долго гуляли по берегу реки. ",
    ),
    "Bulgarian": (
        ("cp1251",),
        "Сървърът проверява ключовете при всяко стартиране. Промените влизат в сила след рестартиране на услугата. Вчера "
        "дълго се разхождахме край реката. ",
    ),
    "Greek": (
        ("cp1253", "iso8859-7"),
        "Ο διακομιστής ελέγχει τα κλειδιά σε κάθε εκκίνηση. Οι αλλαγές ισχύουν μετά την επανεκκίνηση της υπηρεσίας. Χθες "
        "περπατήσαμε πολλή ώρα δίπλα στο ποτάμι. ",
    ),
    "Turkish": (
        ("cp1254",),
        "Sunucu her açılışta anahtarları denetler. Değişiklikler hizmet yeniden başlatıldıktan sonra geçerli olur. Dün nehir "
        "kıyısında uzun süre yürüdük; çocuklar şarkı söylüyordu. ",
    ),
    "Hebrew": (
        ("cp1255",),
        "השרת בודק את המפתחות בכל הפעלה. השינויים נכנסים לתוקף לאחר הפעלה מחדש של השירות. אתמול טיילנו זמן רב לאורך הנהר. ",
    ),
    "Arabic": (
        ("cp1256",),
        "يتحقق الخادم من المفاتيح عند كل تشغيل. تسري التغييرات بعد إعادة تشغيل الخدمة. مشينا أمس طويلا على ضفة النهر. ",
    ),
    "Thai": (
        ("cp874",),
        "เซิร์ฟเวอร์ตรวจสอบกุญแจทุกครั้งที่เริ่มทำงาน การเปลี่ยนแปลงจะมีผลหลังจากเริ่มบริการใหม่ เมื่อวานเราเดินเล่นริมแม่น้ำเป็นเวลานาน ",
    ),
    "Japanese": (
        ("cp932", "euc_jp", "iso2022_jp"),
        "サーバーは起動のたびに鍵を確認します。設定の変更は、サービスを再起動した後に有効になります。昨日は川のそばを長い間歩きました。",
    ),
    "Chinese": (
        ("gb18030", "gbk"),
        "服务器每次启动时都会检查密钥。更改在重新启动服务后生效。昨天我们沿着河边走了很久。孩子们在唱歌。",
    ),
    "Traditional Chinese": (
        ("big5",),
        "伺服器每次啟動時都會檢查金鑰。變更在重新啟動服務後生效。昨天我們沿著河邊走了很久。孩子們在唱歌。",
    ),
    "Korean": (
        ("cp949", "euc_kr"),
        "서버는 시작할 때마다 키를 확인합니다. 변경 사항은 서비스를 다시 시작한 후 적용됩니다. 어제 우리는 강가를 오래 걸었습니다. ",
    ),
}
LENGTHS = (30, 60, 150, 600, 4_000)  #: characters


def pieces() -> Iterator[tuple[str, str, int, str, bytes]]:
    """Language, encoding, length, text and bytes."""
    for language, (encodings, text) in TEXTS.items():
        for encoding in encodings:
            for length in LENGTHS:
                piece = (text * (length // len(text) + 1))[:length]
                yield language, encoding, length, piece, piece.encode(encoding)


def by_chardet(data: bytes) -> str:
    import chardet

    return data.decode(chardet.detect(data)["encoding"] or "ascii", "replace")


def by_charset_normalizer(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return "" if best is None else str(best)


def by_librarian(data: bytes) -> str:
    return decode(data, "x.txt").text


WAYS: dict[str, Callable[[bytes], str]] = {
    "chardet": by_chardet, "charset-normalizer": by_charset_normalizer, "Librarian": by_librarian,
}  # fmt: skip


def main() -> None:
    print("| detector | " + " | ".join(f"{length:,} characters" for length in LENGTHS) + " | all | ms a piece |")
    print("|---" * (len(LENGTHS) + 3) + "|")
    for name, way in WAYS.items():
        right: dict[int, list[bool]] = {length: [] for length in LENGTHS}
        began = time.perf_counter()
        for language, encoding, length, text, data in pieces():
            try:
                good = way(data).strip() == text.strip()
            except (LookupError, UnicodeError):
                good = False
            right[length].append(good)
            if not good and "-v" in sys.argv:
                print("   ", name, language, encoding, length, file=sys.stderr)
        total = [good for some in right.values() for good in some]
        took = (time.perf_counter() - began) * 1000 / len(total)
        cells = [f"{sum(some)} of {len(some)}" for some in right.values()]
        print(f"| {name} | {' | '.join(cells)} | {sum(total) / len(total):.0%} | {took:.1f} |")


if __name__ == "__main__":
    main()
