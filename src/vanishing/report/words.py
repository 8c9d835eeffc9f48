"""Pieces of the page that several sections use."""

from collections.abc import Sequence

from vanishing.export.markup import Child, Element, element


def counted(count: int, what: str) -> str:
    """Write a number of things: "1 row", "1,200 rows"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def join(names: Sequence[str], most: int = 8) -> str:
    """Write names in a row, the first ones if they are many."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def figure(drawing: Element, caption: Child) -> Element:
    """Return a drawing with its caption."""
    return element("figure", drawing, element("figcaption", caption))


def fold(words: str, *children: Child) -> Element:
    """Return what is seen when it is asked for, and in print."""
    return element("details", element("summary", words), *children)


def scrolled(table: Element, label: str) -> Element:
    """Return a table that is moved sideways on a narrow screen, with the keyboard as well."""
    return element("div", table, class_="scrolled", tabindex=0, role="region", aria_label=label)


def row_of(tag: str, cells: Sequence[Child], kinds: Sequence[str | None] = ()) -> Element:
    """Return a row of a table; kinds are the classes of its cells."""
    classes = list(kinds) + [None] * (len(cells) - len(kinds))
    made = []
    for place, (cell, kind) in enumerate(zip(cells, classes, strict=True)):
        if tag == "th":
            made.append(element("th", cell, scope="col", class_=kind))
        elif place == 0:
            made.append(element("th", cell, scope="row", class_=kind))
        else:
            made.append(element("td", cell, class_=kind))
    return element("tr", made)
