"""Disclaimers at the end of a mail are no words of its own, whatever stands around them; what merely sounds so is."""

from __future__ import annotations

import pytest

from librarian.models import FOLDED
from librarian.parsing.email.quotes import CLOSING, excluded_of, own_words

DISCLAIMERS = {
    "en": "Important notice: This e-mail and its attachments are confidential and meant for the named addressee. Have\n"
    "you received it in error, tell us, and keep no copy. Any unauthorised use of it is prohibited by law.",
    "de": "Diese Nachricht und ihre Anlagen sind vertraulich und nur für den genannten Empfänger bestimmt. Haben Sie\n"
    "sie irrtümlich erhalten, sagen Sie es uns. Jede unbefugte Weitergabe dessen, was darin steht, ist untersagt.",
    "fr": "Ce message et ses pièces jointes sont confidentiels et réservés à leur destinataire. Si vous les avez\n"
    "reçus par erreur, dites-le-nous et n'en gardez rien. Toute diffusion de son contenu est interdite par la loi.",
    "es": "AVISO LEGAL: Este mensaje y sus anexos son confidenciales y van dirigidos a su destinatario. Si lo ha\n"
    "recibido por error, díganoslo y no guarde copia. Queda prohibida la difusión de lo que se dice en él sin permiso.",
}


@pytest.mark.parametrize("disclaimer", [*DISCLAIMERS.values(), "\n\n".join(DISCLAIMERS.values())])
@pytest.mark.parametrize("below", ["", "\n\nSent from my iPhone", "\n\nOn 3 Mar 2026, Bob wrote:\n> Which?"])
@pytest.mark.parametrize(
    "above", ["\n\n", "\n\nKind regards\nAnn Lee\nEngineer\n", "\n\n*******\n", "\n\nDISCLAIMER\n\n"]
)
def test_disclaimers_at_the_end_are_no_words_of_a_mail(above: str, disclaimer: str, below: str) -> None:
    text = f"The pump is old.{above}{disclaimer}{below}\n"
    assert own_words(text, excluded_of(text), FOLDED | {CLOSING}).strip() == "The pump is old."


@pytest.mark.parametrize(
    "own",
    [
        f"{DISCLAIMERS['en']}\n\nAnd now to your question: the valve closes at nine.",
        f"Take this out of the footer:\n\n{DISCLAIMERS['en']}\n\nShall I?",
        "This email is confidential until Friday. We intend to buy the northern plant for three million, and the\n"
        "board hasn't agreed yet: the price was raised twice, and the bank will hardly pay half of it in a year.",
        "Please take the sentence 'This message is confidential. If you are not the intended recipient, you are\n"
        "prohibited to read it' out of our footer, which nobody reads and which adds a kilobyte to each of our mails.",
        "This message is for the privileged queue. Recipients of unauthorized events drop them, and a handler that\n"
        "wasn't intended for it deletes the copy, or the queue would grow until the disk is full. See the patch.",
        DISCLAIMERS["en"][:140],
    ],
)
def test_what_is_said_about_secrets_stays_a_mails_own(own: str) -> None:
    text = f"Hello.\n\n{own}\n"
    assert own_words(text, excluded_of(text), FOLDED | {CLOSING}).strip() == text.strip()


def test_what_stands_right_above_a_disclaimer_stays() -> None:
    for own in (
        "The valve too.",
        "The valve is to be replaced tomorrow morning, and the pump in May, when it is cheaper.",
    ):
        text = f"Hello.\n\n{own}\n{DISCLAIMERS['en']}\n"
        assert own_words(text, excluded_of(text)).strip() == f"Hello.\n\n{own}"
