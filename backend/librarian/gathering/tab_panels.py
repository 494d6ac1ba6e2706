"""Tabs of a page: each panel is shown, below its own label, as a page without tabs would say it."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import html

LABEL = "librarian-tab-label"  #: class of the paragraph that names a panel
_PANELS = (
    ".//*[@role='tabpanel'] | .//*[contains(concat(' ', @class, ' '), ' tabbed-block ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' tab-pane ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' tabpanel ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='blocks']/div"
)
_TABS = (
    ".//*[@role='tab'] | .//*[contains(concat(' ', @class, ' '), ' tablist ')]//li[@class='tab']"
    " | .//*[contains(concat(' ', @class, ' '), ' tabbed-labels ')]/label"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='tabs']/label"
)
_FAR = 3  #: a set of tabs stands no further above its panels' parent


def unfold(main: html.HtmlElement) -> None:
    """Put each tab's label in front of its panel and show the panels that wait for a click.

    A tab names its panel as WAI-ARIA says (`aria-labelledby`, `aria-controls`), by a link to it, or by its place
    among as many tabs as there are panels beside each other. A label without a panel stays where it is.
    """
    panels = main.xpath(_PANELS)
    if not panels:
        return
    tabs = main.xpath(_TABS)
    by_name = {str(tab.get("id")): tab for tab in tabs if tab.get("id")}
    by_target = {target: tab for tab in reversed(tabs) for target in _targets(tab)}  # the first of several shows all
    by_place = dict(_by_place(panels))
    used = []
    for panel in panels:
        panel.attrib.pop("hidden", None)
        tab = by_name.get(str(panel.get("aria-labelledby")))
        tab = by_target.get(str(panel.get("id"))) if tab is None else tab
        tab = by_place.get(panel) if tab is None else tab
        if tab is not None and (words := " ".join(str(tab.text_content()).split())):
            label = html.Element("p", {"class": LABEL})
            label.text, label.tail, panel.text = words, panel.text, None
            panel.insert(0, label)
            used.append(tab)
    for tab in dict.fromkeys(used):
        if tab.getparent() is not None:
            tab.drop_tree()


def _targets(tab: html.HtmlElement) -> set[str]:
    """Ids of the panels that a tab, or the link in it, says it opens."""
    named = [str(tab.get("aria-controls") or "")]
    for element in (tab, *tab.iter("a")):
        named += [str(element.get(name) or "").partition("#")[2] for name in ("href", "data-bs-target", "data-target")]
    return {name for name in named if name}


def _by_place(panels: list[html.HtmlElement]) -> Iterator[tuple[html.HtmlElement, html.HtmlElement]]:
    """(panel, its tab) where panels beside each other are as many as the tabs of their set."""
    known = set(panels)
    groups: dict[html.HtmlElement, list[html.HtmlElement]] = {}
    for panel in panels:
        groups.setdefault(panel.getparent(), []).append(panel)
    for parent, group in groups.items():
        home = _panel_of(parent, known)
        for around in [parent, *parent.iterancestors()][:_FAR]:
            tabs = [tab for tab in around.xpath(_TABS) if _panel_of(tab, known) is home]
            if len(tabs) == len(group):
                yield from zip(group, tabs, strict=True)
            if tabs or around is home:
                break


def _panel_of(element: html.HtmlElement, panels: set[html.HtmlElement]) -> html.HtmlElement | None:
    """The innermost panel that holds an element or is it."""
    return next((around for around in (element, *element.iterancestors()) if around in panels), None)
