"""Quiet text, links and code are readable in every theme."""

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from thinkaloud.surfaces.tui.text.palette import (
    LINE_CONTRAST,
    TEXT_CONTRAST,
    contrast,
    least_contrast,
    role_styles,
)

COLOURED = sorted(name for name in BUILTIN_THEMES if not name.startswith(("ansi", "textual-ansi")))

ROUNDING = 0.02
"""Colours of a theme are mixed as fractions and written as bytes."""


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(Color(255, 255, 255), Color(0, 0, 0)) == pytest.approx(21)
    assert contrast(Color(118, 118, 118), Color(255, 255, 255)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("name", COLOURED)
def test_text_of_every_role_has_a_contrast_of_4_5(name: str) -> None:
    variables = BUILTIN_THEMES[name].to_color_system().generate()
    for ground in ("background", "surface"):
        background, foreground = Color.parse(variables[ground]), Color.parse(variables["foreground"])
        for role, style in role_styles(variables, background, foreground).items():
            if style.foreground is None and contrast(foreground, background) < TEXT_CONTRAST:
                continue  # the theme's own text, which we do not mix
            least = LINE_CONTRAST if role == "gutter" else TEXT_CONTRAST
            colour = style.foreground or foreground
            assert contrast(colour, style.background or background) >= least - ROUNDING, (role, ground)


@pytest.mark.parametrize("name", ["textual-dark", "textual-light"])
def test_text_stays_readable_on_a_terminal_of_256_colours(name: str) -> None:
    variables = BUILTIN_THEMES[name].to_color_system().generate()
    for ground in ("background", "surface"):
        background, foreground = Color.parse(variables[ground]), Color.parse(variables["foreground"])
        for role, style in role_styles(variables, background, foreground).items():
            least = LINE_CONTRAST if role == "gutter" else TEXT_CONTRAST
            colour = style.foreground or foreground
            assert least_contrast(colour, style.background or background) >= least - ROUNDING, (role, ground)


def test_least_contrast_is_that_of_the_nearest_colours_of_256() -> None:
    grey, black = Color(0x7D, 0x7D, 0x7D), Color(0x12, 0x12, 0x12)
    assert contrast(grey, black) == pytest.approx(4.55, abs=0.01)
    assert least_contrast(grey, black) == pytest.approx(4.12, abs=0.01)  # shown as #767676


def test_a_theme_of_ansi_colours_leaves_the_colours_to_the_terminal() -> None:
    ansi = Color.parse("ansi_default")
    styles = role_styles({}, ansi, ansi)
    assert styles["quiet"].dim
    assert styles["quiet"].foreground is None
