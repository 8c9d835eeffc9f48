"""Numbers and names as people write them."""


def number(value: float, form: str) -> str:
    """Write a number, with a minus sign instead of a hyphen."""
    return format(value, form).replace("-", "−")


def shortened(name: str, length: int = 32) -> str:
    """Cut the middle out of a long name: beginnings tell groups apart, ends their members."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"
