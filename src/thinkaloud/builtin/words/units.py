"""Units of measure, each with its factor to the reference unit of its dimension.

A row is: dimension, factor to the reference unit, names in both languages, other spellings, zero point.
Factors are exact. Gallons, quarts, pints and cups are those of the United States; kB is 1000 bytes and KiB
1024. A temperature has a zero point: degrees Celsius are (degrees − zero) × factor.
"""

from fractions import Fraction

import msgspec

from thinkaloud.builtin.words import Language, normalize


class Unit(msgspec.Struct, frozen=True):
    """A unit with its names, singular/plural; in the reference unit it is (amount − zero) × factor."""

    dimension: str
    factor: str
    english: str
    portuguese: str
    zero: str = "0"

    def name(self, language: Language, amount: Fraction | None = None) -> str:
        """Returns the name for an amount; the plural where no amount is given."""
        singular, plural = self.names(language).split("/")
        return singular if amount == 1 else plural

    def names(self, language: Language) -> str:
        """Returns the singular and the plural with a stroke between them."""
        return self.portuguese if language is Language.PT else self.english

    def to_reference(self, amount: Fraction) -> Fraction:
        """Converts an amount of this unit to the reference unit."""
        return (amount - Fraction(self.zero)) * Fraction(self.factor)

    def from_reference(self, amount: Fraction) -> Fraction:
        """Converts an amount of the reference unit to this unit."""
        return amount / Fraction(self.factor) + Fraction(self.zero)


_ROWS = """
length | 1 | meter/meters | metro/metros | m, metre, metres
length | 1000 | kilometer/kilometers | quilômetro/quilômetros | km, kms, kilometre, kilometres
length | 0.01 | centimeter/centimeters | centímetro/centímetros | cm, centimetre, centimetres
length | 0.001 | millimeter/millimeters | milímetro/milímetros | mm, millimetre, millimetres
length | 0.0254 | inch/inches | polegada/polegadas |
length | 0.3048 | foot/feet | pé/pés | ft
length | 0.9144 | yard/yards | jarda/jardas | yd
length | 1609.344 | mile/miles | milha/milhas | mi
length | 1852 | nautical mile/nautical miles | milha náutica/milhas náuticas | nmi
mass | 1 | kilogram/kilograms | quilograma/quilogramas | kg, kgs, kilo, kilos, quilo, quilos
mass | 0.001 | gram/grams | grama/gramas | g
mass | 0.000001 | milligram/milligrams | miligrama/miligramas | mg
mass | 1000 | metric ton/metric tons | tonelada/toneladas | t, tonne, tonnes
mass | 0.45359237 | pound/pounds | libra/libras | lb, lbs
mass | 0.028349523125 | ounce/ounces | onça/onças | oz
mass | 6.35029318 | stone/stone | stone/stones |
volume | 1 | liter/liters | litro/litros | l, litre, litres
volume | 0.001 | milliliter/milliliters | mililitro/mililitros | ml, millilitre, millilitres
volume | 1000 | cubic meter/cubic meters | metro cúbico/metros cúbicos | m³, m3, cubic metre, cubic metres
volume | 3.785411784 | US gallon/US gallons | galão/galões | gal, gallon, gallons, galao americano
volume | 0.946352946 | US quart/US quarts | quarto americano/quartos americanos | qt, quart, quarts
volume | 0.473176473 | US pint/US pints | pint americano/pints americanos | pint, pints
volume | 0.2365882365 | US cup/US cups | xícara americana/xícaras americanas | cup, cups
volume | 0.0295735295625 | US fluid ounce/US fluid ounces | onça líquida/onças líquidas | fl oz, fluid ounces
temperature | 1 | °C/°C | °C/°C | c, ºc, celsius
temperature | 5/9 | °F/°F | °F/°F | f, ºf, fahrenheit | 32
temperature | 1 | kelvin/kelvins | kelvin/kelvins | k | 273.15
time | 1 | second/seconds | segundo/segundos | s, sec, secs
time | 0.001 | millisecond/milliseconds | milissegundo/milissegundos | ms
time | 60 | minute/minutes | minuto/minutos | min, mins
time | 3600 | hour/hours | hora/horas | h, hr, hrs
time | 86400 | day/days | dia/dias | d
time | 604800 | week/weeks | semana/semanas |
speed | 1 | kilometer per hour/kilometers per hour | quilômetro por hora/quilômetros por hora | km/h, kmh, kph
speed | 3.6 | meter per second/meters per second | metro por segundo/metros por segundo | m/s
speed | 1.609344 | mile per hour/miles per hour | milha por hora/milhas por hora | mph, mi/h
speed | 1.852 | knot/knots | nó/nós | kn, kt
speed | 1.09728 | foot per second/feet per second | pé por segundo/pés por segundo | ft/s, fps
data | 1 | byte/bytes | byte/bytes | b
data | 0.125 | bit/bits | bit/bits |
data | 1000 | kilobyte/kilobytes | quilobyte/quilobytes | kb
data | 1000000 | megabyte/megabytes | megabyte/megabytes | mb
data | 1000000000 | gigabyte/gigabytes | gigabyte/gigabytes | gb
data | 1000000000000 | terabyte/terabytes | terabyte/terabytes | tb
data | 125000 | megabit/megabits | megabit/megabits | mbit
data | 125000000 | gigabit/gigabits | gigabit/gigabits | gbit
data | 1024 | kibibyte/kibibytes | kibibyte/kibibytes | kib
data | 1048576 | mebibyte/mebibytes | mebibyte/mebibytes | mib
data | 1073741824 | gibibyte/gibibytes | gibibyte/gibibytes | gib
data | 1099511627776 | tebibyte/tebibytes | tebibyte/tebibytes | tib
"""


def _units_by_name() -> dict[str, Unit]:
    units = {}
    for row in _ROWS.strip().splitlines():
        dimension, factor, english, portuguese, spellings, *zero = (cell.strip() for cell in row.split("|"))
        unit = Unit(dimension, factor, english, portuguese, *zero)
        for name in (*english.split("/"), *portuguese.split("/"), *spellings.split(",")):
            units[normalize(name)] = unit
    return {name: unit for name, unit in units.items() if name}


UNITS = _units_by_name()
"""Every unit by each of its spellings, normalized."""


def reference_unit(dimension: str) -> Unit:
    """Returns the unit that the factors of a dimension are in: the first of its rows."""
    return next(unit for unit in UNITS.values() if unit.dimension == dimension)
