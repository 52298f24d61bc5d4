"""Money: integer micro-units stored, `Decimal` in code, rounded once to what a currency can pay.

SQLite sums decimals as floats; integers are exact on every database. Minor digits are those of
ISO 4217 where they differ from two.
"""

from decimal import ROUND_HALF_EVEN, Decimal

MICRO = 1_000_000
_MINOR_DIGITS = {
    "BHD": 3, "CLP": 0, "IQD": 3, "ISK": 0, "JOD": 3, "JPY": 0, "KRW": 0, "KWD": 3, "LYD": 3,
    "OMR": 3, "PYG": 0, "TND": 3, "UGX": 0, "VND": 0, "XAF": 0, "XOF": 0,
}  # fmt: skip
_SIGNS = {"KRW": "₩", "USD": "$", "EUR": "€", "JPY": "¥", "GBP": "£"}


def minor_digits(currency: str) -> int:
    """How many digits after the point this currency has."""
    return _MINOR_DIGITS.get(currency, 2)


def round_micro(amount: Decimal, currency: str) -> int:
    """An amount in whole currency units → micro-units, rounded half-even to what can be paid."""
    step = Decimal(1).scaleb(-minor_digits(currency))
    return int(amount.quantize(step, rounding=ROUND_HALF_EVEN) * MICRO)


def from_micro(micro: int) -> Decimal:
    """Micro-units → whole currency units, exactly."""
    return Decimal(micro) / MICRO


def show(micro: int, currency: str) -> str:
    """An amount for people: sign, thousands, the currency's own digits."""
    number = f"{from_micro(micro):,.{minor_digits(currency)}f}"
    sign = _SIGNS.get(currency)
    return f"{sign} {number}" if sign else f"{number} {currency}"
