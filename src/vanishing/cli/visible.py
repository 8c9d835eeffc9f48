"""Text of others, made harmless for terminals: names of columns, of rows, of files."""

import re

#: All that moves the cursor, changes colours or the order of writing, or asks the terminal for
#: something; ends of lines and tabs are our own.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]"
)


def visible(text: str) -> str:
    r"""Return a text with control characters as Python writes them, such as ``\x1b``."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_json(text: str) -> str:
    r"""Return JSON that says the same, with control characters in strings as ``\u009b``."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
