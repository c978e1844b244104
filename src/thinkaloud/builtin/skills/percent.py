"""Percentages: "15% of 80", "80 plus 10%", "20 is what percent of 80", "percent change from 80 to 100"."""

from thinkaloud.builtin.question import Skill
from thinkaloud.builtin.word_problem import Form, recogniser
from thinkaloud.builtin.words import Language

_PERCENT = r"#percent ?(?:%|percent|per cent|por ?cento)"
_PRICE = (
    r"(?:, (?:what is|how much is|what's)(?: the| it)?(?: final| new| sale)?(?: price| now)?"
    r"|, quanto (?:custa|fica|e)(?: agora)?(?: o preco final)?|, qual (?:e )?o preco final)?"
)

PERCENT = Skill(
    "percentages",
    recogniser(
        Form(
            "percent_of",
            (
                rf"(?:a |an |uma? )?{_PERCENT} (?:tip |gorjeta )?(?:of|on|de|do|da|sobre|em) #base",
                rf"(?:a |the )?tip of {_PERCENT} on #base",
            ),
            (("hundredth", "{base} / 100"), ("percents", "{hundredth} * {percent}")),
            ("{answer} * 100", "{base} * {percent}"),
        ),
        Form(
            "percent_more",
            (
                rf"#base ?(?:plus|\+|mais|increased by|with an increase of|com aumento de) ?{_PERCENT}",
                rf"(?:increase|raise|aumente|aumentar) #base (?:by|em) {_PERCENT}",
                rf"add {_PERCENT} to #base",
            ),
            (
                ("hundredth", "{base} / 100"),
                ("percents", "{hundredth} * {percent}"),
                ("more", "{base} + {percents}"),
            ),
            ("{answer} * 100", "{base} * (100 + {percent})"),
        ),
        Form(
            "percent_less",
            (
                rf"#base ?(?:minus|-|−|menos|decreased by|reduced by|with|com|with a discount of|com "
                rf"desconto de) ?{_PERCENT}(?: off| discount| de desconto)?",
                rf"(?:decrease|reduce|lower|reduza|diminua) #base (?:by|em) {_PERCENT}",
                rf"(?:a )?{_PERCENT} (?:off|discount on|off of|de desconto em|de desconto sobre) #base",
                rf"(?:a|an|the|uma?|o) @thing (?:costs?|is|custa) #base,? (?:and|but|e|mas)(?: it)? (?:is"
                rf"|has|gets|esta com|tem|ganha)(?: a)? {_PERCENT} (?:off|discount|de desconto){_PRICE}",
                rf"(?:a|an|the) #base @thing (?:is|at|with) {_PERCENT} (?:off|discount){_PRICE}",
            ),
            (
                ("hundredth", "{base} / 100"),
                ("percents", "{hundredth} * {percent}"),
                ("less", "{base} - {percents}"),
            ),
            ("{answer} * 100", "{base} * (100 - {percent})"),
        ),
        Form(
            "what_percent",
            (
                r"(?:what )?percent(?:age)? of #base is #part",
                r"#part is (?:what|how many) percent(?:age)? of #base",
                r"#part (?:e|eh|sao|representa) (?:quantos por ?cento|que porcentagem|quanto por ?cento) "
                r"de #base",
                r"(?:quantos por ?cento|que porcentagem) de #base (?:e|eh|sao) #part",
                r"#part out of #base (?:in|as a) percent(?:age)?",
            ),
            (("share", "{part} / {base}"), ("percentage", "{share} * 100")),
            ("{answer} * {base}", "{part} * 100"),
        ),
        Form(
            "percent_change",
            (
                r"(?:the )?percent(?:age)? (?:change|increase|decrease|difference) (?:from|between) #old "
                r"(?:to|and) #new",
                r"(?:a )?(?:variacao|mudanca) percentual de #old (?:para|a) #new",
            ),
            (
                ("difference", "{new} - {old}"),
                ("share", "{difference} / {old}"),
                ("percentage", "{share} * 100"),
            ),
            ("{old} * (1 + {answer} / 100)", "{new}"),
            least=None,
        ),
    ),
    {Language.EN: "what is 15% of 80", Language.PT: "quanto é 15% de 80"},
    "percent percentage increase decrease discount change desconto porcentagem cento aumento",
)
