"""Units of columns, as headers such as ``speed [m/s]`` and rows of units below a header have them.

What a unit measures is told by powers of base units: km/h and m/s are the same, m and s are not.
"""

import re
from collections import Counter
from functools import lru_cache

from vanishing.data.written_numbers import CURRENCY

#: What a unit measures: base units with their powers.
Dimension = frozenset[tuple[str, int]]

_SAME = {
    "m": "in inch ft yd mi mile miles", "B": "byte bytes",
    "s": "sec min h hr hour hours d day days week month months a yr year years",
    "g": "t lb lbs oz", "K": "°C °F ℃ ℉ degC degF", "A": "", "mol": "", "cd": "lm lx",
    "1": "% ‰ ppm ppb - – — # pcs count rad deg ° sr",
    "kg*m/s2": "N", "N*m": "J eV cal Btu", "J/s": "W hp", "W*h": "Wh", "N/m2": "Pa bar atm psi",
    "A*s": "C", "A*h": "Ah", "W/A": "V", "V/A": "Ω Ohm ohm", "A/V": "S", "C/V": "F", "V*s": "Wb",
    "Wb/m2": "T", "Wb/A": "H", "1/s": "Hz Bq rpm", "m3": "l L gal", "m/s": "kn mph",
    "m2": "ha",
}  # fmt: skip
_UNITS = {each: base for base, names in _SAME.items() for each in (base, *names.split())}
_PREFIXES = re.compile(r"(?:da|[QRYZEPTGMkhdcmμµunpfazyrq])(?=.)")
_FACTOR = re.compile(r"([^\d^*-]+|[-–—])\^?(-?\d)?|1")
_SIGNS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−·⋅×", "0123456789--***")


@lru_cache(maxsize=4096)
def measure_unit(text: str) -> Dimension | None:
    """Return what a unit measures, None if the text is empty or no unit that is known."""
    if not text:
        return None
    found: Counter[str] = Counter()
    for place, part in enumerate(text.translate(_SIGNS).replace("**", "^").split("/")):
        inner = part.strip()
        factors = re.split(r"[*\s]+", inner.strip("()"))
        if place and len(factors) > 1 and not inner.startswith("("):
            return None  # it is not clear what stands below the line in J/kg K
        for factor in factors:
            matched = _FACTOR.fullmatch(factor)
            base = _find_base(matched[1] or "") if matched else None
            if matched is None or base is None:
                return None
            power = int(matched[2] or 1) * (-1 if place else 1)
            for name, exponent in base:
                found[name] += exponent * power
    return frozenset((name, power) for name, power in found.items() if power)


def _find_base(symbol: str) -> Dimension | None:
    """Return what a unit without powers measures; nothing is a number."""
    if not symbol:
        return frozenset()
    for name in (symbol, _PREFIXES.sub("", symbol, count=1)):
        if CURRENCY.fullmatch(name):  # kUSD
            return frozenset({(name, 1)})
        base = _UNITS.get(name)
        if base is not None:
            return frozenset({(base, 1)}) if base.isalpha() else measure_unit(base)
    return None


def read_unit(header: str) -> str:
    """Return the unit in a header, "" without one.

    As in ``power (kW)``, ``temperature °C`` or, after the symbol of a quantity, ``I / mA``.
    """
    tried = re.findall(r"[\[(]([^\[\]]*)[\])]\s*$|,([^,]+)$|\s(°\w|[%€$£])\s*$", header)
    # Not km/h, which is a unit itself, nor a rate such as requests/s.
    divided = re.fullmatch(r"\s*([^\W\d_](?:_?\w{1,3})?)\s*/\s*([^/()]+|\([^()]+\))\s*", header)
    if divided and measure_unit(divided[1]) is None:
        tried = [(divided[2].removeprefix("(").removesuffix(")"),)]
    whole = [text.strip() for text in (tried[0] if tried else ())]
    texts = [*whole, *(text.split(",")[0].strip() for text in whole)]  # (kUSD, rounded)
    return next((text for text in texts if text and measure_unit(text) is not None), "")
