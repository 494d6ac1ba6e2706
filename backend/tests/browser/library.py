"""What the browser reads: a shop's documents and mails, and two files that mean harm."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.browser.asciidoc import SPARS
from tests.browser.restructured import HOSTILE_RST, MAST, ROPE

HOSTILE = """---
title: Hostile page
---
# Hostile page <img src=x onerror="window.harmed='heading'">

Read the poisoned chalice paragraph. <script>window.harmed = 'script'</script>
<img src="http://198.51.100.7/pixel.png" onerror="window.harmed='img'"> and
<svg onload="window.harmed='svg'"><script>window.harmed='svg script'</script></svg>.

[click me](javascript:window.harmed='link') [encoded](java&#115;cript:window.harmed='entity')
[data](data:text/html,<script>window.harmed='data'</script>) <a href="javascript:window.harmed='a'">raw</a>
![remote](http://198.51.100.7/pixel.png "x") ![x](x" onerror="window.harmed='alt')
[up](../../../../etc/passwd) [fine](tokens.md#rotating-a-token) <https://example.org/>

<iframe src="javascript:window.harmed='iframe'"></iframe>
<details open ontoggle="window.harmed='toggle'"><summary>raw</summary></details>

| cell <script>window.harmed='cell'</script> | `<b onclick=harm()>code</b>` |
|---|---|
| <style>body { display: none }</style> | **bold `code`** |

```html
<script>window.harmed = 'fence'</script>
```
"""

HOSTILE_MAIL = (
    "From: \"<img src=x onerror=window.harmed='from'>\" <evil@example.org>\nTo: team@example.org\n"
    "Subject: <script>window.harmed='subject'</script> Cheap rings\nDate: Wed, 04 Mar 2026 08:00:00 +0100\n"
    "Message-ID: <evil@example.org>\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n"
    "<html><body onload=\"window.harmed='body'\"><p>Buy cheap rings <b>today</b>.</p>"
    "<script>window.harmed='mail script'</script><img src=\"http://198.51.100.7/t.gif\">"
    "&lt;img src=x onerror=\"window.harmed='escaped'\"&gt; javascript:window.harmed=1</body></html>\n"
)

_PDF = base64.b64encode(b"%PDF-1.4 plan").decode()

FILES = {
    "shop/api/tokens.md": """---
title: Access tokens
tags: [security, api]
updated: 2026-02-03
---
# Access tokens

Every call carries a bearer token in its header. See the [checkout](../guides/checkout.md) for an example.

## Rotating a token

Create a second token, move your callers over, then revoke the old one with `shopctl token revoke --id ID`.
Rotated tokens keep their scope.

| field | meaning |
|---|---|
| `max_age_s` | seconds until a token expires |
| `scope` | what it may do |

## Errors

1. `401` without a token
2. `403` with a token whose scope doesn't reach
   - ask for another scope
   - or use another token
"""
    + "".join(f"\n## Appendix {n}\n\nFurther remark number {n} about tokens in general.\n" for n in range(1, 31)),
    "shop/guides/checkout.md": """---
tags: [payment]
---
# Checkout

Customers pay at the end of the checkout. When a payment is declined, error E4021 is shown and the cart is kept.

```python
cart = Cart.load(cart_id)
cart.checkout(retry_declined=True)
```

> Declined payments are tried again once.
""",
    "shop/guides/returns.md": "# Returns\n\nGoods come back within thirty days. Refunds go to the original card.\n",
    "billing/invoices/numbering.md": "# Invoice numbers\n\nThey rise without gaps. The prefix is `invoice.prefix`.\n",
    "billing/invoices/dunning.txt": "Dunning\n=======\n\nReminders go out after fourteen days, then after thirty.\n",
    "billing/overview.md": "# Billing\n\nBilling turns orders into invoices and watches what is paid.\n"
    "\n* Left to right\n\n1. ראשון\n\n       bill --all\n\n> ציטוט.\n\n| שדה | ערך |\n|---|---|\n| a | ב |\n",
    "security/notes/hostile.md": HOSTILE,
    "mail/support/0001.eml": (
        "From: Ada Lovelace <ada@example.org>\nTo: team@example.org\nSubject: Refund for order 17\n"
        "Date: Mon, 02 Mar 2026 10:00:00 +0100\nMessage-ID: <one@example.org>\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain; charset=utf-8\n\n'
        "The customer wants the refund for order 17 on another card. Is that possible?\n\nAda\n\n"
        '--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="order-17.pdf"\n'
        f"Content-Transfer-Encoding: base64\n\n{_PDF}\n--b--\n"
    ),
    "mail/support/0002.eml": (
        "From: Bob <bob@example.org>\nTo: Ada Lovelace <ada@example.org>\nSubject: Re: Refund for order 17\n"
        "Date: Tue, 03 Mar 2026 11:00:00 +0100\nMessage-ID: <two@example.org>\nIn-Reply-To: <one@example.org>\n"
        "References: <one@example.org>\n\nNo: refunds always go to the original card. "
        "https://example.org/refunds says so.\n\n"
        "Bob\n\nOn Mon, 2 Mar 2026 at 10:00, Ada Lovelace <ada@example.org> wrote:\n"
        "> The customer wants the refund for order 17 on another card. Is that possible?\n>\n> Ada\n"
    ),
    "mail/support/0003.eml": HOSTILE_MAIL,
}
FILES |= {
    "shop/lab/links.md": """# Ways

[calibration](gauges/#calibration) [folder](gauges) [page](gauges/index.html) [site](/docs/lab/gauges/#limits)
[as a site serves it](../gauges/#limits) [spaced](<odd name.md>) <a href="gauges/_index.md#own-name">raw</a>
[further down](#further-down) [own](#own) [nowhere](gone.md)
[a line](gauges/_index.md#L123-L125) [lost](gauges/_index.md#lost)
[[odd name]] [[gauges/_index#Limits|by a wiki]] [[Gauges#Limits\\|not]](gone.md) ![[spar.png|100]]

"""
    + "Filler.\n\n" * 60
    + "## Further down\n\nHere.\n\n## Named {#own}\n\nBy itself.\n"
    + "\nFiller.\n" * 60,
    "shop/lab/gauges/_index.md": "# Gauges\n\n"
    + "Dial.\n\n" * 60
    + "## Calibration\n\nTwice a year.\n\n## Own <a id='own-name'></a>\n\nx\n\n## Limits\n\nNone.\n"
    + "\nDial.\n" * 60,
    "shop/lab/odd name.md": "# Odd name { #odd-id }\n\nNothing odd inside.\n\n"
    '<table class="t">\n<thead><tr><th>Field</th><th>Meaning</th></tr></thead>\n<tbody>\n\n'
    "<tr><td><code>sprit</code><br/>string</td>\n<td>\n  <p>A <b>spar</b>"
    " <img src=x onerror=\"window.harmed='row'\"></p>\n</td>"
    "</tr>\n<tr><td>boom</td><td>below</td></tr>\n</tbody>\n</table>\n\n<ul><li>one</li><li>two</li></ul>\n",
    "shop/lab/notes.md": """# Notes

!!! warning "Mind the **cable**"
    It is hot.

        winch --down

    Wait first.

??? tip

    * one

Before it
:::tip[Of colons]
Held.

:::info
inner
:::

:::

//// details | Of slashes
    open: true

/// note
Inner one.
///

////

{{< note >}}
A {{< glossary_tooltip text="pulley" term_id="x" >}} and
a {{< glossary_tooltip term_id="tackle-block" >}}. {{< /note >}}

> [!IMPORTANT]
> Quoted.

```{seealso}
:class: small

Further *reading*.
```

::: open for ever

a === b and {{< skew currentVersion >}} stay.
""",
    "shop/lab/ballast.csv": "item,ballast\n" + "".join(f"crate{n},{n * 3}\n" for n in range(300)),
    "shop/lab/hoist.html": "<html><head><title>Hoist</title></head><body><h1>Hoist</h1>"
    "<p>A hoist takes a List&lt;Rope&gt; of 2*3*4 ropes, see __init__ and https://example.org/hoist.</p>"
    "<table><tr><th>rope</th><th>a|b</th></tr><tr><td>&lt;b&gt;thick&lt;/b&gt;</td><td>2</td></tr></table>"
    "<ul><li>[x] not a task</li></ul><pre>hoist --up</pre></body></html>",
    "shop/lab/scripts.md": "# Scripts\n\nמדריך להתקנה winch.\n\n更新证书的方法。\n\nCall `__winch__` and __now__.\n",
}
FILES |= {"shop/lab/berths.md": "".join(f"- berth{n} {'keel ' * 220}\n" for n in range(1, 281))}
FILES |= {"shop/lab/mast.rst": MAST, "shop/lab/rope.txt": ROPE, "shop/lab/spars.adoc": SPARS}
FILES |= {"security/notes/hostile.rst": HOSTILE_RST}
FILES |= {
    f"shop/notes/release-{n:02}.md": f"# Release {n}\n\nRelease {n} of the shop mends parcel labels and stock counts.\n"
    for n in range(1, 15)
}


def write_library(root: Path) -> Path:
    """The files above, below `root`."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
