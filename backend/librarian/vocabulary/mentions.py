"""What is said of words that no document holds."""

from __future__ import annotations

from collections.abc import Sequence


def no_mention(words: Sequence[str], where: str = "", *, of: str = "document") -> str:
    """A sentence naming words that no document (or email) mentions; empty without any.

    >>> no_mention(["Databricks"]), no_mention(["Okta", "SAML"], "in product ray", of="email")
    ('No document mentions “Databricks”.', 'No email in product ray mentions “Okta” or “SAML”.')
    """
    if not words:
        return ""
    quoted = [f"“{word}”" for word in words]
    listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return f"No {of} {where} mentions {listed}." if where else f"No {of} mentions {listed}."
