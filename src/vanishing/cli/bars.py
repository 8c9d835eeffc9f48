"""Bars of text."""

import sys

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 20) -> str:
    """Return a bar that fills a share of the width; nothing for what is not a number."""
    share = min(max(share, 0.0), 1.0) if share == share else 0.0
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
