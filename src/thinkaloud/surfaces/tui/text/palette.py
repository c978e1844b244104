"""The looks of text in the terminal user interface, by role.

Quiet text is mixed from the colours of the theme and keeps a contrast of 4.5:1, whatever the theme is. A
terminal of 256 colours shows the nearest ones, and they keep it as well. A theme of ANSI colours leaves the
colours to the terminal, so there quiet text is dim.
"""

from collections.abc import Mapping

from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.markup import parse_style
from textual.style import Style

TEXT_CONTRAST = 4.5
"""The least contrast of text, after WCAG 2.2 AA."""
LINE_CONTRAST = 3.0
"""The least contrast of lines and signs."""
_MIX_STEPS = 50

ROLES: Mapping[str, str] = {
    "text": "",
    "quiet": "$quiet",
    "gutter": "$gutter",
    "header": "$quiet",
    "header.current": "bold reverse",
    "found": "bold reverse",
    "warning": "$readable-warning",
    "error": "$readable-error",
    "heading": "bold $readable-primary",
    "strong": "bold",
    "emphasis": "italic",
    "strong.emphasis": "bold italic",
    "strike": "strike",
    "link": "underline $readable-primary",
    "code": "$readable-accent on $code",
    "fence": "on $code",
    "fence.comment": "italic $quiet-code on $code",
    "fence.keyword": "bold $readable-primary on $code",
    "fence.string": "$readable-success on $code",
    "fence.number": "$readable-warning on $code",
    "fence.name": "$readable-accent on $code",
}
"""A style for every role. `$quiet`, `$gutter`, `$code` and `$readable-…` are computed from the theme."""

_ANSI_ROLES = {
    "text": "",
    "quiet": "dim",
    "gutter": "dim",
    "header": "dim",
    "header.current": "bold reverse",
    "warning": "ansi_yellow",
    "error": "ansi_red",
    "heading": "bold ansi_blue",
    "link": "underline ansi_blue",
    "code": "ansi_cyan",
    "fence": "",
    "fence.comment": "dim italic",
    "fence.keyword": "bold ansi_magenta",
    "fence.string": "ansi_green",
    "fence.number": "ansi_yellow",
    "fence.name": "ansi_cyan",
}
_READABLE = ("primary", "accent", "success", "warning", "error")
_TEXT_VARIABLES = ("text-accent", "text-success", "text-warning")


def role_styles(theme_variables: Mapping[str, str], background: Color, foreground: Color) -> dict[str, Style]:
    """Return the style of every role on this background."""
    if background.ansi is not None or foreground.ansi is not None:
        return {role: parse_style(_ANSI_ROLES.get(role, style)) for role, style in ROLES.items()}
    code = _code_background(background, foreground)
    colours = {
        "quiet": mix(foreground, background, TEXT_CONTRAST),
        "gutter": mix(foreground, background, LINE_CONTRAST),
        "code": code,
        "quiet-code": mix(foreground, code, TEXT_CONTRAST),
    }
    for name in _READABLE:
        colours[f"readable-{name}"] = readable(Color.parse(theme_variables[name]), code, foreground)
    variables = {name: colour.hex6 for name, colour in colours.items()}
    return {role: parse_style(style, variables) for role, style in ROLES.items()}


def readable_variables(theme_variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a theme that are changed so that text in windows and lists is readable."""
    surface, foreground = (Color.parse(theme_variables[name]) for name in ("surface", "foreground"))
    texts = {
        name: readable(Color.parse(theme_variables[name]), surface, foreground).hex6
        for name in _TEXT_VARIABLES
    }
    return {**texts, "block-cursor-background": theme_variables["primary-darken-2"]}


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def least_contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours, or that of the nearest ones of 256 if it is less."""
    return min(contrast(one, other), contrast(_nearest_of_256(one), _nearest_of_256(other)))


def mix(foreground: Color, background: Color, needed_contrast: float) -> Color:
    """Return the colour nearest to the background that keeps the contrast to it."""
    for step in range(1, _MIX_STEPS + 1):
        colour = background.blend(foreground, step / _MIX_STEPS)
        if least_contrast(colour, background) >= needed_contrast:
            return colour
    return readable(foreground, background, foreground)


def readable(colour: Color, background: Color, foreground: Color) -> Color:
    """Return the colour, mixed with as much foreground as text on this background needs.

    If the theme's own foreground is too faint, it is mixed with black or white.
    """
    for ground in (foreground, background.get_contrast_text(1)):
        for step in range(_MIX_STEPS + 1):
            mixed = colour.blend(ground, step / _MIX_STEPS)
            if least_contrast(mixed, background) >= TEXT_CONTRAST:
                return mixed
    return background.get_contrast_text(1)


def _code_background(background: Color, foreground: Color) -> Color:
    """Return a background that differs from the other one, but not so much that text on it gets faint."""
    for share in (0.07, 0.05, 0.03):
        colour = background.blend(foreground, share)
        if contrast(foreground, colour) >= TEXT_CONTRAST:
            return colour
    return background


def _nearest_of_256(colour: Color) -> Color:
    nearest = RichColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*nearest.get_truecolor())


def _luminance(colour: Color) -> float:
    red, green, blue = map(_linear, colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Return how much light a channel of sRGB stands for, as WCAG defines it."""
    if channel <= 0.04045:
        return channel / 12.92
    light: float = ((channel + 0.055) / 1.055) ** 2.4
    return light
