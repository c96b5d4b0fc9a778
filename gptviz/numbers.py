"""Numbers as people say them, in any language: the twin of widgets/kit/numbers.js, which says the same in the browser.

Babel here and Intl there share the CLDR rules of a language (separators, percent sign, plurals). A number is rounded
from its shortest decimal form, halves away from zero, in both. Blanks inside a number are no-break spaces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

from babel import Locale
from babel.numbers import get_decimal_symbol, get_group_symbol

Text = str | Mapping[str, str]  # a sentence, or its plural forms
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
BLANK = "\u00a0"
TINY = 1e-9  # a probability below it is "practically 0"
SMALL = 1e-4  # a probability below it (0.01 %) is said as a chance
WIDE = Context(prec=700, rounding=ROUND_HALF_UP)  # holds every float to its last digit


class Numbers:
    """The formats of one language; `texts` are its words from `words/numbers.toml` (chance, byte, …)."""

    def __init__(self, language: str = "en", texts: Mapping[str, Text] | None = None) -> None:
        self.locale = Locale.parse(language, sep="-")
        self.texts = texts or {}
        self._english = self.locale.language == "en"
        self._point = get_decimal_symbol(self.locale)
        self._comma = get_group_symbol(self.locale)
        self._groups: tuple[int, int] = self.locale.decimal_formats[None].grouping
        percent = self.locale.percent_formats[None]
        self._percent = (percent.prefix[0], BLANK + "%" if self._english else _blanks(percent.suffix[0]))

    def plural(self, n: float | Decimal, *, ordinal: bool = False) -> str:
        """The CLDR category of a number: one, two, few, many or other."""
        return str((self.locale.ordinal_form if ordinal else self.locale.plural_form)(n))

    def percent(self, p: float) -> str:
        """A probability: 92 %, 9.3 %, 0.57 %, 0.03 %, below that 1 in 430,000; never 0 % or 100 % unless it is."""
        if 0 < p < SMALL:
            return self.chance(p)
        if 0.9995 <= p < 1:
            return ">" + BLANK + self._as_percent(99.9, 1)
        if not 0 < p < 1:
            return self._as_percent(p, 0, 2)
        return self._as_percent(p, 1 if p >= 0.995 else 0 if p >= 0.0995 else 1 if p >= 0.00995 else 2, 2)

    def percent_list(self, ps: Iterable[float]) -> list[str]:
        """Probabilities that stand in one list, in one form, so that they can be compared.

        All at least 0.01 %: each as `percent` says it. The smallest at least 0.001 %: those below 1 % as percentages
        with two significant figures (0.57 %, 0.012 %, 0.0045 %). Smaller yet: those below 1 % as chances
        (1 in 180, 1 in 430,000).
        """
        values = list(ps)
        least = min((p for p in values if p > 0), default=1.0)
        if least >= SMALL:
            return [self.percent(p) for p in values]

        def small(p: float) -> str:
            if least < SMALL / 10:
                return self.chance(p)
            shown = self._significant(_decimal(p).scaleb(2, WIDE), 2, 2)
            return self._wrap(shown)

        return [small(p) if 0 < p < 0.00995 else self.percent(p) for p in values]

    def chance(self, p: float) -> str:
        """A probability as `1 in 430,000`, two significant figures; practically 0 below one in a billion."""
        if not 0 < p <= 1:
            return self.percent(p)
        if p < TINY:
            return self._text("practically_0")
        return self._text("chance", n=self._significant(_decimal(1 / p), 2))

    def exact(self, x: float) -> str:
        """Every digit, for a tooltip: 0.00012, 1,234.5, 4.6 × 10⁻¹²."""
        if not math.isfinite(x):
            return self._odd(x)
        value = _decimal(x)
        if value and not 1e-4 <= abs(x) < 1e15:
            return self._scientific(value, 17)
        return self._fixed(value, max(0, -_exponent(value)))

    def decimal(self, x: float, digits: int) -> str:
        """A number with so many decimals; 0 for exactly 0, practically 0 for what would only look like it."""
        if not math.isfinite(x):
            return self._odd(x)
        value = _decimal(x)
        if not value:
            return "0"
        if abs(x) >= 1e15:
            return self._scientific(value, 3)
        if not _rounded(value, digits):
            return self._text("practically_0")
        return self._fixed(value, digits)

    def delta(self, x: float) -> str:
        """A difference: exactly 0, 0.00021, 13.7, 1,234, 2 × 10⁻⁶; two figures below 1, then three, whole from 100."""
        if x == 0:
            return self._text("exactly_0")
        return self.number(x)

    def number(self, x: float) -> str:
        """Any number: a whole one in full, another with two figures below 1, three above, whole from 100 on."""
        if not math.isfinite(x):
            return self._odd(x)
        value, size = _decimal(x), abs(x)
        if size and not 1e-4 <= size < 1e15:
            return self._scientific(value, 2)
        if size >= 99.95 or value == value.to_integral_value():
            return self.whole(x)
        return self._significant(value, 3, 3) if size >= 0.9995 else self._significant(value, 2, 2)

    def whole(self, n: float) -> str:
        """A count: 73,728."""
        return self._fixed(_decimal(n), 0) if math.isfinite(n) else self._odd(n)

    def ordinal(self, n: int) -> str:
        """A place in a row: 1st, 2nd, 50th."""
        forms = self.texts.get("ordinal", {})
        if isinstance(forms, str):
            raise TypeError("ordinal must have plural forms")
        form = forms.get(self.plural(n, ordinal=True)) or forms.get("other") or "{n}"
        return form.replace("{n}", self.whole(n))

    def times(self, x: float) -> str:
        """How many times as much: × 17, × 2.9, ÷ 2.9 for less."""
        less = 0 < abs(x) < 1
        factor = 1 / x if less else x
        if not math.isfinite(factor):
            return "×" + BLANK + self._odd(factor)
        size = abs(factor)
        value = _rounded(_decimal(factor), 2 if size < 1.095 else 1 if size < 9.95 else 0)
        sign = "÷" if less and value != 1 else "×"
        return sign + BLANK + self._fixed(value, max(0, -_exponent(value)))

    def bytes(self, n: float) -> str:
        """A size in decimal units, three figures: 512 B, 36.9 kB, 75.5 MB, 17.2 GB."""
        if not math.isfinite(n):
            return self._odd(n)
        units = ("B", "kB", "MB", "GB", "TB", "PB")
        power, size = 0, abs(n)
        while size >= (999.5 if power else 1000) and power < len(units) - 1:
            size, power = size / 1000, power + 1
        scaled = _decimal(n if power == 0 else math.copysign(size, n))
        shown = self._significant(scaled, 3, 3) if power and size < 99.95 else self._fixed(scaled, 0)
        return self._text("unit_" + units[power], n=shown)

    def bytes_exact(self, n: float) -> str:
        """A size to the byte: 73,728 B."""
        return self._text("unit_B", n=self.whole(n))

    def seconds(self, s: float) -> str:
        """A duration: 21 ms, 0.21 s, 2.1 s, 21 s, 1 min 20 s, 2 h 5 min."""
        if not math.isfinite(s) or s < 0:
            return self._odd(s) if not math.isfinite(s) else "−" + self.seconds(-s)
        if s == 0:
            return self._text("unit_s", n="0")
        if s < 0.0995:
            return self._small_seconds(s)
        if s < 9.95:
            return self._text("unit_s", n=self._significant(_decimal(s), 2, 2))
        whole = int(_rounded(_decimal(s), 0))
        if whole < 3600:
            return self._two(whole // 60, "min", whole % 60, "s")
        if s >= 1e9:
            return self._text("unit_h", n=self.number(s / 3600))
        minutes = int(_rounded(_decimal(s / 60), 0))
        return self._two(minutes // 60, "h", minutes % 60, "min")

    def _small_seconds(self, s: float) -> str:
        unit, value = ("ms", s * 1000) if s >= 0.0000995 else ("us", s * 1000000)
        if value < 0.01:
            return self._text("practically_0")
        return self._text("unit_" + unit, n=self._significant(_decimal(value), 2))

    def _two(self, large: int, large_unit: str, small: int, small_unit: str) -> str:
        parts = [(large, large_unit)] if large else []
        if small or not large:
            parts.append((small, small_unit))
        return BLANK.join(self._text("unit_" + unit, n=self.whole(n)) for n, unit in parts)

    def _text(self, key: str, **values: str) -> str:
        text = self.texts.get(key)
        if not isinstance(text, str):
            raise KeyError(f"numbers.{key} has no text in {self.locale}")
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        return text

    def _odd(self, x: float) -> str:
        """Infinity and not-a-number."""
        return self._text("not_a_number") if math.isnan(x) else "∞" if x > 0 else "−∞"

    def _as_percent(self, p: float, digits: int, shift: int = 0) -> str:
        if not math.isfinite(p):
            return self._odd(p)
        value = _rounded(_decimal(p).scaleb(shift, WIDE), digits)
        return self._wrap(self._fixed(value, digits if value else 0))

    def _wrap(self, shown: str) -> str:
        before, after = self._percent
        return f"{before}{shown}{after}"

    def _significant(self, value: Decimal, most: int, least: int = 1) -> str:
        """Rounded to `most` figures, with zeros at the end only as far as `least` figures."""
        rounded = Context(prec=most, rounding=ROUND_HALF_UP).plus(value)
        digits = max(0, -_exponent(rounded), least - 1 - rounded.adjusted())
        return self._fixed(rounded, digits)

    def _scientific(self, value: Decimal, most: int) -> str:
        rounded = Context(prec=most, rounding=ROUND_HALF_UP).plus(value)
        power = rounded.adjusted()
        mantissa = self._significant(rounded.scaleb(-power, WIDE), most)
        return f"{mantissa}{BLANK}×{BLANK}10{str(power).translate(SUPERSCRIPTS)}"

    def _fixed(self, value: Decimal, digits: int) -> str:
        """The digits in groups, with the language's separators and a real minus sign."""
        rounded = _rounded(value, digits)
        before, _, after = f"{abs(rounded):f}".partition(".")
        last, others = self._groups
        parts = [before[-last:]]
        rest = before[:-last]
        while rest:
            parts.insert(0, rest[-others:])
            rest = rest[:-others]
        sign = "−" if rounded < 0 else ""
        return sign + self._comma.join(parts) + (self._point + after if after else "")


def _blanks(text: str) -> str:
    """One kind of no-break space, whichever of the two this version of the CLDR data has."""
    return text.replace("\u202f", BLANK)


def _decimal(x: float) -> Decimal:
    """A number's shortest decimal form, as JavaScript writes it too."""
    return Decimal(x) if isinstance(x, int) else Decimal(repr(float(x)))


def _rounded(value: Decimal, digits: int) -> Decimal:
    with localcontext(WIDE):
        return value.quantize(Decimal(1).scaleb(-digits))


def _exponent(value: Decimal) -> int:
    """The power of ten of the last digit that is not 0."""
    exponent = value.normalize(WIDE).as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
