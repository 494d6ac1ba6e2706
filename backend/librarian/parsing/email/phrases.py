"""What mail programs write around quotes and signatures, in the languages that they speak. Data, no logic.

Collected from the resource strings and answers of common programs (Gmail, Outlook, Apple Mail, Thunderbird, Yahoo,
K-9, mobile ones): English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Russian, Ukrainian, Czech,
Hungarian, Swedish, Norwegian, Danish, Finnish, Turkish, Vietnamese, Chinese, Japanese and Korean; their words above
quotes alone in Catalan, Galician, Basque, Bulgarian, Serbian, Croatian, Slovene, Greek, Estonian, Latvian, Lithuanian,
Hebrew, Arabic, Persian, Hindi, Thai and Indonesian.
"""

from __future__ import annotations

#: Words that an attribution line ("On … wrote:") begins with.
OPENINGS = (
    "On", "At", "Am", "Le", "El", "Il", "Op", "Em", "Dnia", "W dniu", "Den", "På", "Pada", "Vào", "Dne", "V",
    "Tarihinde", "Wiadomość napisana", "No dia", "Pe", "Στις", "在", "於", "于",
)  # fmt: skip

#: Verbs of attribution lines; they stand near the end of the line or are followed by a name.
WROTE = (
    "wrote", "writes", "sent", "said", "spake thusly", "schrieb", "schrieben", "schreibt", "a écrit", "écrivait",
    "escribió", "escribio", "ha scritto", "scrisse", "scriveva", "schreef", "geschreven", "escreveu", "napisał(a)",
    "napisała", "napisał", "pisze", "napisana przez", "написал(а)", "написала", "написал", "пишет", "писал", "пише",
    "написав", "napsal(a)", "napsala", "napsal", "napísal(a)", "napísala", "napísal", "a scris", "έγραψε", "ezt írta",
    "írta", "skrev", "skrifaði", "kirjoitti", "yazdı", "đã viết", "menulis", "va escriure", "ha escrit", "escribiu",
    "idatzi du", "написа", "написао/ла", "написао", "је написала", "napisao/la", "napisao je", "napisala je",
    "je napisao", "je napisala", "napisala", "kirjutas", "rakstīja", "rašė", "נכתב על ידי", "نوشت", "ने लिखा",
)  # fmt: skip

#: The same, in scripts without spaces between words.
WROTE_CJK = (
    "写道", "寫道", "书写道", "さんは書きました", "さんのメール", "のメール:", "のメール：", "のメッセージ",
    "書きました", "님이 작성", "작성:", "เขียนว่า",
)  # fmt: skip


#: What stands between dashes above the history.
ORIGINAL_MESSAGE = (
    "original message", "original appointment", "reply message", "ursprüngliche nachricht", "originalnachricht",
    "antwort nachricht", "message d'origine", "message original", "message initial", "mensaje original",
    "mensagem original", "messaggio originale", "oorspronkelijk bericht", "origineel bericht",
    "oprindelig meddelelse", "oprindelig besked", "original-nachricht", "ursprungligt meddelande",
    "originalmeddelande", "opprinnelig melding", "alkuperäinen viesti", "oryginalna wiadomość",
    "wiadomość oryginalna", "исходное сообщение", "оригинальное сообщение", "původní zpráva", "eredeti üzenet",
    "orijinal mesaj", "原始邮件", "原始郵件", "邮件原件", "元のメッセージ", "原本メッセージ", "원본 메시지",
)  # fmt: skip

#: The same for forwarded messages.
FORWARDED_MESSAGE = (
    "forwarded message", "begin forwarded message", "begin forwarded text", "forwarded by",
    "weitergeleitete nachricht", "anfang der weitergeleiteten nachricht", "weitergeleitete e-mail",
    "message transféré", "message transmis", "début du message réexpédié", "début du message transféré",
    "mensaje reenviado", "mensagem encaminhada", "mensagem reencaminhada", "messaggio inoltrato",
    "inizio messaggio inoltrato", "doorgestuurd bericht", "begin doorgestuurd bericht", "videresendt meddelelse",
    "vidarebefordrat meddelande", "videresendt melding", "wiadomość przekazana", "przekazana wiadomość",
    "пересылаемое сообщение", "пересланное сообщение", "начало переадресованного сообщения",
    "перенаправленное сообщение", "přeposlaná zpráva", "preposlaná správa", "továbbított üzenet", "iletilen mesaj",
    "mesaj redirecționat", "перенаправлене повідомлення", "переслане повідомлення", "proslijeđena poruka",
    "edelleenlähetetty viesti", "välitetty viesti", "wiadomość przesłana dalej", "treść przekazanej wiadomości",
    "转发邮件", "メッセージを転送", "转发的邮件", "轉寄郵件", "轉寄的郵件", "転送メッセージ", "転送されたメッセージ",
    "전달된 메시지", "weitergeleitet von", "transféré par", "réacheminé par", "reenviado por", "inoltrato da",
    "doorgestuurd door", "encaminhado por", "przekazane przez", "továbbította", "videresendt av", "videresendt af",
    "vidarebefordrat av",
)  # fmt: skip

#: Header names as programs translate them above the history, by what they mean.
HEADER_NAMES: dict[str, tuple[str, ...]] = {
    "from": (
        "From", "Von", "De", "Da", "Van", "Från", "Fra", "Od", "От", "От кого", "Від", "Feladó", "Lähettäjä",
        "Kimden", "Nadawca", "De la", "Šalje", "送信元", "Από", "Saatja", "Nuo", "Từ", "จาก", "Dari", "מאת", "من",
        "Gönderen", "Odesílatel", "发件人", "發件人", "寄件者", "寄件人", "差出人", "送信者", "보낸 사람",
    ),
    "date": (
        "Date", "Sent", "Datum", "Gesendet", "Gesendet am", "Envoyé", "Envoyé le", "Fecha", "Enviado", "Enviado el",
        "Enviada em", "Enviado em", "Enviada", "Data", "Inviato", "Verzonden", "Skickat", "Sendt", "Dato", "Wysłano",
        "Дата", "Отправлено", "Надіслано", "Dátum", "Elküldve", "Küldve", "Lähetetty", "Päiväys", "Tarih",
        "Gönderilen", "Datum odeslání", "Odesláno", "Odoslané", "Message du", "Dată", "Trimis", "Päivämäärä", "日付",
        "发送时间", "發送時間", "日期", "寄件日期", "日時", "送信日時", "날짜", "보낸 날짜", "Poslano", "Poslato",
        "Изпратено", "Αποστολή", "Ημερομηνία", "Saadetud", "Kuupäev", "Išsiųsta", "Enviat", "Đã gửi", "Ngày", "ส่ง",
        "Dikirim", "Terkirim", "Tanggal", "נשלח", "תאריך", "تم الإرسال", "التاريخ",
    ),
    "to": (
        "To", "An", "À", "A", "Pour", "Para", "Aan", "Till", "Til", "Do", "Кому", "Címzett", "Vastaanottaja", "Kime",
        "Komu", "Adresat", "Către", "Pre", "送信先", "收件人", "收件者", "宛先", "받는 사람", "Za", "Prima", "До",
        "Προς", "Adressaat", "Kam", "Per a", "Đến", "ถึง", "Kepada", "אל", "إلى",
    ),
    "cc": (
        "Cc", "CC", "Kopie", "Copie", "Copia", "Kopi", "Kopia", "Kopio", "Kópia", "DW", "UDW", "Копия", "Копія",
        "Copie à", "Másolat", "Másolatot kap", "抄送", "副本",
    ),
    "subject": (
        "Subject", "Betreff", "Objet", "Sujet", "Subiect", "Predmet", "Naslov", "Asunto", "Oggetto", "Onderwerp",
        "Ämne", "Emne", "Temat", "Тема", "Tárgy", "Assunto", "Aihe", "Konu", "Předmět", "主题", "主題", "主旨",
        "件名", "제목", "Zadeva", "Относно", "Θέμα", "Teema", "Tema", "Thema", "Assumpte", "Chủ đề", "เรื่อง",
        "Subjek", "Judul", "נושא", "الموضوع",
    ),
    "reply": (
        "Reply-To", "Risposta", "Antwort an", "Reply to", "Répondre à", "Responder a",
    ),
}  # fmt: skip

#: Lines that devices and programs add below a mail, as regular expressions over the line in lower case.
SENT_FROM = (
    r"[<(]*sent (?:from|via|with|by|wirelessly from|using) .*", r"\w+ from (?:my )?(?:mobile|phone|iphone)\b.*",
    r"from my (?:iphone|ipad|mobile|phone|android|blackberry)\b.*", r"get \[?outlook\b.*",
    r"\[?outlook\b.{0,40} (?:beziehen|herunterladen|downloaden|ophalen)\b.*",
    r"(?:obter o|obtener|obtenir|télécharger|ottieni|scarica|hämta|skaffa|hent|pobierz(?: aplikację)?|stáhnout"
    r"|загрузить|скачать|获取|下載|取得) \[?outlook\b.*",
    r".*outlook.*を入手", r"envoyé (?:de|depuis|à partir de|avec|sans fil)\b.*", r"von mein\w+ .*gesendet\.?",
    r"gesendet (?:von|mit|über|aus)\b.*", r"diese nachricht wurde von .* gesendet\.?",
    r"enviado (?:desde|do|de|a partir|con|pelo)\b.*", r"inviato (?:da|dal|con)\b.*",
    r"verzonden (?:met|vanaf|vanuit|van|via)\b.*", r"verstuurd vanaf\b.*", r"sendt fra\b.*", r"skickat från\b.*",
    r"wysłan[eo] (?:z|przy)\b.*", r"отправлено (?:с|из)\b.*", r"odesláno z\b.*",
    r"(?:az )?\w+(?:-omról|-emről|-mról|-ról|-ről|ról|ről) küldve\.?|elküldve .*-r[óő]l\.?",
    r"trimis (?:de pe|din|cu)\b.*", r"lähetetty .*",
    r"从我的.*(?:发送|傳送|送出)|從我的.*(?:傳送|送出)|发自我的.*|發自我的.*", r".*から送信.*", r"나의 .*에서 보냄",
)  # fmt: skip

#: How letters end. A name follows.
CLOSINGS = (
    "thanks", "thank you", "many thanks", "thx", "regards", "best regards", "kind regards", "warm regards", "best",
    "best wishes", "all the best", "cheers", "sincerely", "yours", "yours sincerely", "yours truly", "br", "kr",
    "rgds", "take care", "ciao", "bye", "mit freundlichen grüßen", "mit freundlichem gruß", "mit besten grüßen",
    "freundliche grüße", "viele grüße", "beste grüße", "liebe grüße", "herzliche grüße", "schöne grüße", "gruß",
    "grüße", "mit freundlichen grüssen", "freundliche grüsse", "viele grüsse", "beste grüsse", "liebe grüsse",
    "herzliche grüsse", "gruss", "grüsse", "mfg", "lg", "vg", "danke", "cordialement", "bien cordialement", "cdt",
    "salutations", "amicalement", "merci", "bien à vous", "bien à toi", "bonne journée", "saludos", "un saludo",
    "un cordial saludo", "saludos cordiales", "un abrazo", "atentamente", "gracias", "cordiali saluti",
    "distinti saluti", "saluti", "un saluto", "grazie", "met vriendelijke groet", "met vriendelijke groeten",
    "vriendelijke groet", "vriendelijke groeten", "hartelijke groet", "hartelijke groeten", "groeten", "groet",
    "groetjes", "mvg", "bedankt", "atenciosamente", "cumprimentos", "melhores cumprimentos",
    "com os melhores cumprimentos", "abraço", "abraços", "obrigado", "obrigada", "pozdrawiam",
    "pozdrawiam serdecznie", "serdecznie pozdrawiam", "z poważaniem", "dziękuję", "с уважением",
    "с наилучшими пожеланиями", "спасибо", "üdvözlettel", "tisztelettel", "üdv", "köszönettel", "köszönöm",
    "med vänliga hälsningar", "med vänlig hälsning", "vänliga hälsningar", "med vennlig hilsen", "vennlig hilsen",
    "med venlig hilsen", "venlig hilsen", "de bedste hilsner", "mvh", "hälsningar", "hilsen", "祝好", "此致", "谢谢",
    "よろしくお願いします", "よろしくお願いいたします", "よろしくお願い致します",
)  # fmt: skip

#: What introduces an afterthought below the name.
POSTSCRIPTS = (
    "p.s.", "p.-s.", "ps", "pps", "p.p.s.", "pd", "p.d.", "nb", "n.b.", "btw", "by the way", "oh, and", "nachtrag",
    "ui.", "u.i.", "ui", "dopisek", "з.ы.", "зы", "постскриптум", "附言", "又及", "追伸", "추신",
)  # fmt: skip

#: Small words inside names and titles, which are written without a capital.
PARTICLES = frozenset({
    "a", "al", "and", "at", "d", "da", "de", "del", "der", "des", "di", "du", "e", "el", "et", "für", "i", "in", "la",
    "le", "of", "og", "the", "u", "und", "van", "von", "y", "и",
})  # fmt: skip

#: What people put in brackets for words that they cut out of a quote.
SNIPS = (
    "snip", "snipped", "cut", "gekürzt", "schnipp", "coupé", "cortado", "recorte", "ciach", "вырезано", "略", "中略",
)  # fmt: skip

#: Words of disclaimers, as regular expressions: that a mail is a secret ...
SECRET = (
    "confidential", "privileged", "proprietary", "vertraulich", "confidentiel", "confidencia[ils]", "riservat",
    "vertrouwelijk", "confidenzial", "poufn",
)  # fmt: skip

#: ... whom it is for ...
FOR_WHOM = (
    "intended", "recipient", "addressee", r"addressed\b", "unauthori[sz]ed", "empfänger", "empfaenger", "adressat",
    "destinat", "bestemd", "geadresseerde",
)  # fmt: skip

#: ... and what everybody else is to do or not.
FORBIDDEN = (
    r"receiv\w+ .{0,60}(?:in error|by mistake)", "prohibited",
    r"(?:notify|inform|contact|advise) (?:the |its )?sender",
    r"unauthori[sz]ed (?:use|review|access|disclos|disseminat|copying|distribut|person)", "not authori[sz]ed to",
    "is unauthori[sz]ed", "may not be (?:disclos|us|cop|read)", "irrtümlich", "irrtuemlich", "unbefugt",
    "nicht gestattet", "untersagt", "unzulässig", "(?:lö|loe)schen sie", "vernichten sie", "par erreur", "interdit",
    "expéditeur", "por error", "por equivocación", "prohibid", "remitente", "elimín", "elimine", "per errore",
    "vietat", "proibit", "mittente", "por engano", "proibid", "remetente", "per abuis", "ten onrechte", "verboden",
    "niet toegestaan", "afzender",
)  # fmt: skip

#: What else is said beside them.
BESIDES = (
    r"\bvirus", "malware", "liabilit", "haftung", "responsab", "views", "opinions", "before printing", "ausdrucken",
    "avant d.imprimer", "antes de imprimir", "prima di stampare", "privacy policy", "personal data", "datenschutz",
    "données personnelles", "datos personales", "dati personali", "registered (?:in|office)", "thank you",
    "vielen dank", "unlawful", "disclos", r"delet\w+ (?:this|it|all)",
)  # fmt: skip

#: How disclaimers begin.
DISCLAIMER_OPENINGS = (
    r"this (?:electronic )?(?:e-?mail|mail|message|communication|transmission|correspondence)",
    r"(?:the |any )?(?:information|contents?|content)(?: \w+){0,2} (?:in|of|by|with) this",
    r"if you (?:are not|have received this|received this|receive this)",
    r"diese[rs]? (?:elektronische )?(?:e-?mail|mail|nachricht)",
    r"(?:der|die) (?:inhalt|inhalte|informationen) (?:in )?diese[rs]?", "die in diese[rs]",
    r"(?:ce|cet|le présent) (?:e-?mail|mail|message|courriel|courrier)", "cette (?:communication|transmission)",
    "(?:les |l['’])informations? contenues?", "le contenu de ce",
    r"(?:este|el presente) (?:e-?mail|mail|mensaje|correo)", "(?:esta|la presente) (?:comunicación|transmisión)",
    "la información (?:contenida|incluida|que contiene)", "el contenido de est[ea]",
    r"(?:questo|il presente) (?:messaggio|e-?mail)", r"(?:questa|la presente) (?:e-?mail|comunicazione)",
    "(?:le|la) informazion[ei] contenut[ea]", "esta mensagem", r"este e-?mail", "as informações contidas",
    "a informação contida", r"dit (?:e-?mail)?-?bericht", r"deze e-?mail",
    "de (?:informatie|inhoud) (?:in|van) (?:dit|deze)",
)  # fmt: skip

#: What may stand above them, in a line of its own or before a colon.
DISCLAIMER_TITLES = (
    "confidential", "confidentiality", "disclaimer", "(?:important|legal|privacy) notice", "notice", "information",
    "warning", "hinweis", "beachtung", "achtung", "vertraulichkeitshinweis", "haftungsausschluss", "attention",
    "avertissement", "avis", "confidentialité", "aviso legal", "aviso", "confidencialidad", "riservatezza",
    "avvertenza",
)  # fmt: skip
