"""Ages: "Ana is 3 years older than Bob. Together they are 27. How old is Bob?"."""

from thinkaloud.builtin.question import Skill
from thinkaloud.builtin.word_problem import Form, recogniser
from thinkaloud.builtin.words import Language

_SUM = (
    r",? (?:and )?(?:together they are|their ages add up to|the sum of their ages is|their combined age is) "
    r"#total(?: years old| years)?, how old is "
)
_SUM_PT = (
    r",? (?:e )?(?:juntos tem|juntas tem|juntos eles tem|juntas elas tem|a soma das idades e|a soma de suas "
    r"idades e) #total(?: anos)?, (?:quantos anos tem|qual (?:e )?a idade d[eoa]) (?:[oa] )?"
)
_OLDER = rf"@older is #difference years? older than @younger{_SUM}"
_OLDER_PT = (
    r"@older (?:e|tem) #difference anos? (?:mais velh[oa]|a mais) (?:do )?que (?:[oa] )?@younger" + _SUM_PT
)
_HALF = (
    r"when i was #then(?: years old)?,? my @relative was half my age,? (?:now |and now )?(?:i am|i'm) #now"
    r"(?: years old)?(?: now)?, how old is (?:my @relative|she|he)(?: now)?"
)
_HALF_PT = (
    r"quando eu tinha #then(?: anos)?,? minha @relative tinha (?:a )?metade da minha idade,? "
    r"(?:agora |hoje )?(?:eu )?tenho #now(?: anos)?(?: agora| hoje)?, "
    r"quantos anos (?:ela tem|tem minha @relative|minha @relative tem)(?: agora| hoje)?"
)
_TWICE = (
    r"@older is #old(?: years old)?,? (?:and )?@younger is #young(?: years old)?, in how many years will "
    r"@older be twice as old as @younger"
)
_TWICE_PT = (
    r"@older tem #old(?: anos)?,? (?:e )?@younger tem #young(?: anos)?, (?:daqui a|em) quantos anos @older "
    r"tera o dobro da idade d[eoa] @younger"
)

AGES = Skill(
    "ages",
    recogniser(
        Form(
            "age_of_younger",
            (f"{_OLDER}@younger", f"{_OLDER_PT}@younger"),
            (("without_difference", "{total} - {difference}"), ("half", "{without_difference} / 2")),
            ("{answer} + {answer} + {difference}", "{total}"),
        ),
        Form(
            "age_of_older",
            (f"{_OLDER}@older", f"{_OLDER_PT}@older"),
            (("with_difference", "{total} + {difference}"), ("half", "{with_difference} / 2")),
            ("{answer} + {answer} - {difference}", "{total}"),
        ),
        Form(
            "age_of_younger",
            (rf"@older is #factor times as old as @younger{_SUM}@younger",),
            (("parts", "{factor} + 1"), ("one_part", "{total} / {parts}")),
            ("{answer} * {factor} + {answer}", "{total}"),
        ),
        Form(
            "age_of_younger",
            (
                rf"@older is twice as old as @younger{_SUM}@younger",
                rf"@older tem o dobro da idade d[eoa] @younger{_SUM_PT}@younger",
            ),
            (("one_part", "{total} / 3"),),
            ("{answer} * 2 + {answer}", "{total}"),
        ),
        Form(
            "age_of_older",
            (
                rf"@older is twice as old as @younger{_SUM}@older",
                rf"@older tem o dobro da idade d[eoa] @younger{_SUM_PT}@older",
            ),
            (("one_part", "{total} / 3"), ("two_parts", "{one_part} * 2")),
            ("{answer} + {answer} / 2", "{total}"),
        ),
        Form(
            "age_now",
            (_HALF, _HALF_PT),
            (
                ("half_then", "{then} / 2"),
                ("age_difference", "{then} - {half_then}"),
                ("age_later", "{now} - {age_difference}"),
            ),
            ("{now} - {answer}", "{then} - {then} / 2"),
        ),
        Form(
            "years_until_twice",
            (_TWICE, _TWICE_PT),
            (("double", "2 * {young}"), ("years", "{old} - {double}")),
            ("{old} + {answer}", "2 * ({young} + {answer})"),
        ),
    ),
    {
        Language.EN: "When I was 6 my sister was half my age. Now I am 70. How old is she?",
        Language.PT: "Quando eu tinha 6 anos, minha irmã tinha metade da minha idade. Hoje tenho 70. Quantos "
        "anos ela tem?",
    },
    "older years together twice half when sister brother idade anos metade dobro irma irmao juntos",
)
