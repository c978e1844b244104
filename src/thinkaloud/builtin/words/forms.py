"""Forms of word problems: sentences in both languages, and the calculation that each one asks for.

A form matches a whole question or nothing, so that no number and no condition is overlooked. Its pattern is a
regular expression with these additions: `#name` is a number, `@name` one to three words, `~name` a noun in
the singular or the plural, `&name` a unit of measure. A name that was used before stands for the same words
again; a noun is then also known as `name_again`.
"""

import msgspec


class Form(msgspec.Struct, frozen=True):
    """One form of word problem. `name` is the key of its answer, the labels of its steps those of theirs.

    The expressions use the numbers of the question and the values of earlier steps by name. The equation is
    linear in `answer` and holds for the right one.
    """

    name: str
    patterns: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    equation: tuple[str, str]
    least: int | None = 0
    """No answer below this makes sense; None where any does."""


_PERCENT = r"#percent ?(?:%|percent|per cent|por ?cento)"
_FINAL_PRICE = (
    r"(?:, (?:what is|how much is|what's)(?: the| it)?(?: final| new| sale)?(?: price| now)?"
    r"|, quanto (?:custa|fica|e)(?: agora)?(?: o preco final)?|, qual (?:e )?o preco final)?"
)
_PERCENTAGES = (
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
            r"#base ?(?:minus|-|−|menos|decreased by|reduced by|with|com|with a discount of|com desconto de)"
            rf" ?{_PERCENT}(?: off| discount| de desconto)?",
            rf"(?:decrease|reduce|lower|reduza|diminua) #base (?:by|em) {_PERCENT}",
            rf"(?:a )?{_PERCENT} (?:off|discount on|off of|de desconto em|de desconto sobre) #base",
            r"(?:a|an|the|uma?|o) @thing (?:costs?|is|custa) #base,? (?:and|but|e|mas)(?: it)? (?:is|has|gets"
            rf"|esta com|tem|ganha)(?: a)? {_PERCENT} (?:off|discount|de desconto){_FINAL_PRICE}",
            rf"(?:a|an|the) #base @thing (?:is|at|with) {_PERCENT} (?:off|discount){_FINAL_PRICE}",
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
            r"#part (?:e|eh|sao|representa) (?:quantos? por ?cento|que porcentagem) de #base",
            r"(?:quantos por ?cento|que porcentagem) de #base (?:e|eh|sao) #part",
            r"#part out of #base (?:in|as a) percent(?:age)?",
        ),
        (("share", "{part} / {base}"), ("percentage", "{share} * 100")),
        ("{answer} * {base}", "{part} * 100"),
    ),
    Form(
        "percent_change",
        (
            r"(?:the )?percent(?:age)? (?:change|increase|decrease|difference) "
            r"(?:from|between) #old (?:to|and) #new",
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
)

_MOVES = r"(?:travels?|travell?ed|drives?|drove|runs?|ran|goes|covers?|covered|walks?|walked|flies|rides?)"
_MOVES_PT = r"(?:percorreu?|percorre|anda|andou|viaja|viajou|roda|faz|fez|corre|correu)"
_HOW_FAR = r"how far (?:do|does|will|can|would) @mover (?:travel|go|drive|get|walk|run|fly)"
_SPEEDS = r"#speed(?: ?&own_rate)? (?:and|e) #other_speed ?&rate"
_RATES = (
    Form(
        "speed",
        (
            rf"(?:an?|the|my) @mover {_MOVES} #distance ?&length in #time ?&duration, "
            r"(?:what is (?:its|his|her|the)(?: average)? speed"
            r"|how fast (?:is|was|does|did) (?:it|he|she|the @mover)(?: going| travel(?:ing)?| drive| go)?)",
            rf"(?:o|a|uma?|meu) @mover {_MOVES_PT} #distance ?&length em #time ?&duration, "
            r"qual (?:e )?(?:a |sua |a sua )?velocidade(?: media)?",
        ),
        (("speed_value", "{distance} / {time}"),),
        ("{answer} * {time}", "{distance}"),
    ),
    Form(
        "duration",
        (
            r"how long (?:does it take|will it take|would it take|do i need|does @mover take|is the trip)? ?"
            r"(?:to )?(?:drive|travel|go|walk|cover|run|fly|ride|for)? ?#distance ?&length at #speed ?&rate",
            rf"(?:an?|the) @mover {_MOVES} #distance ?&length at #speed ?&rate, "
            r"how long does (?:it|the trip) take",
            r"quanto tempo (?:leva|demora|preciso|levo)(?: para| pra)? "
            r"(?:percorrer|andar|dirigir|viajar|fazer) #distance ?&length a #speed ?&rate",
        ),
        (("duration_value", "{distance} / {speed}"),),
        ("{answer} * {speed}", "{distance}"),
    ),
    Form(
        "distance",
        (
            rf"{_HOW_FAR} in #time ?&duration at #speed ?&rate",
            rf"{_HOW_FAR} at #speed ?&rate in #time ?&duration",
            rf"(?:an?|the) @mover {_MOVES} (?:at )?#speed ?&rate for #time ?&duration, "
            r"how far does (?:it|he|she) (?:go|travel|get)",
            r"que distancia (?:percorre|anda|viaja) @mover em #time ?&duration a #speed ?&rate",
        ),
        (("distance_value", "{speed} * {time}"),),
        ("{answer} / {speed}", "{time}"),
    ),
    Form(
        "meeting",
        (
            r"two (?:trains|cars|people|cyclists) (?:are |start |that are )?#distance ?&length apart,? "
            r"(?:and )?(?:they )?(?:drive|travel|move|head|go|run|ride|are traveling|are heading)? ?"
            rf"towards? each other,? at {_SPEEDS}, "
            r"(?:when|after how long|in how many hours|how long until) (?:do |will )?they meet",
            r"(?:dois|2) (?:trens|carros|ciclistas) (?:estao )?a #distance ?&length"
            r"(?: de distancia)?(?: um do outro)?,? (?:e )?(?:vao|viajam|andam|seguem|correm) um "
            rf"(?:em direcao a?o|ao encontro do|contra o) outro,? a {_SPEEDS}, "
            r"(?:quando|em quanto tempo|em quantas horas|depois de quanto tempo)(?: eles)? se encontram",
        ),
        (("closing_speed", "{speed} + {other_speed}"), ("meeting_time", "{distance} / {closing_speed}")),
        ("{answer} * {speed} + {answer} * {other_speed}", "{distance}"),
    ),
    Form(
        "machines",
        (
            r"#machines ~maker (?:take|need) #minutes minutes to (?:make|produce|build) #items ~item, "
            r"how (?:long|many minutes) (?:would|does|will|do)(?: it take)? #more_machines ~maker "
            r"(?:take |need )?to (?:make|produce|build) #more_items ~item",
            r"#machines ~maker (?:levam|demoram|precisam de) #minutes minutos (?:para|pra) "
            r"(?:fazer|produzir) #items ~item, quant(?:o tempo|os minutos) "
            r"(?:levam|levariam|demoram|demorariam) #more_machines ~maker (?:para|pra) "
            r"(?:fazer|produzir) #more_items ~item",
        ),
        (
            ("machine_minutes", "{machines} * {minutes}"),
            ("minutes_per_item", "{machine_minutes} / {items}"),
            ("all_minutes", "{minutes_per_item} * {more_items}"),
            ("shared_minutes", "{all_minutes} / {more_machines}"),
        ),
        ("{answer} * {more_machines} * {items}", "{machines} * {minutes} * {more_items}"),
    ),
    Form(
        "doubling",
        (
            r"(?:.*\b(?:doubles?|doubling)\b.*\b(?:every|each|per) day"
            r"|(?:.*\b)?(?:every|each) day,? .*\bdoubles?\b)[^#\d]*takes? #days days [^\d]*"
            r"\b(?:cover|fill)s? the (?:entire |whole )?\w+, (?:how (?:long|many days)|on which day|when)\b"
            r"[^\d]*\bhalf\b[^\d]*",
            r"[^\d]*(?:dobra|duplica)[^\d]*(?:todo dia|por dia|a cada dia|todos os dias)[^\d]* #days dias "
            r"[^\d]*(?:cobrir|cobre|encher)[^\d]*, (?:quantos dias|quanto tempo|em que dia)\b"
            r"[^\d]*\bmetade\b[^\d]*",
        ),
        (("day_before", "{days} - 1"),),
        ("{answer} + 1", "{days}"),
    ),
)

_ASKS_PRICE = r",? (?:then |entao )?(?:how much|what) (?:do|does|would|will) #wanted ~thing(?: cost)?"
_ASKS_PRICE_PT = r",? (?:entao )?quanto (?:custam|custa|custariam|custaria) #wanted ~thing"
_SOMEBODY = r"(?:i|we|he|she|[a-z]+)"
_BUYS = rf"{_SOMEBODY} (?:buy|buys|bought|get|gets) #count ~thing (?:at|for) #price (?:each|apiece|per piece)"
_BUYS_PT = r"(?:eu )?(?:comprei|compro|compra|comprou) #count ~thing (?:a|por|de) #price cada(?: um| uma)?"
_BOTH_COST = (
    r"(?:an? )?@first and (?:an? )?@second (?:together )?cost #total(?: in total| together| altogether)?, "
    r"(?:and )?the @first costs #difference more than the @second, (?:how much|what) (?:does|is) the "
)
_BOTH_COST_PT = (
    r"(?:uma? )?@first e (?:uma? )?@second custam(?: juntos| juntas| ao todo)? #total"
    r"(?: no total| juntos| juntas| ao todo)?, (?:e )?(?:o|a) @first custa #difference (?:a )?mais (?:do )?"
    r"que (?:o|a) @second, quanto custa (?:o|a) "
)
_PRICES = (
    Form(
        "price_of_several",
        (
            rf"#count ~thing (?:cost|costs) #price{_ASKS_PRICE}",
            rf"#count ~thing (?:custam|custa) #price{_ASKS_PRICE_PT}",
        ),
        (("unit_price", "{price} / {count}"), ("total_price", "{unit_price} * {wanted}")),
        ("{answer} * {count}", "{price} * {wanted}"),
    ),
    Form(
        "price_of_several",
        (
            rf"(?:an?|one|each) ~thing costs #price{_ASKS_PRICE}",
            rf"(?:uma?|cada) ~thing custa #price{_ASKS_PRICE_PT}",
        ),
        (("total_price", "{price} * {wanted}"),),
        ("{answer} / {wanted}", "{price}"),
    ),
    Form(
        "amount_due",
        (
            rf"{_BUYS}, how much (?:do|did|does) {_SOMEBODY} (?:pay|spend)(?: in total)?",
            rf"{_BUYS}, what (?:is|do i pay in) (?:the )?total",
            rf"{_BUYS_PT}, quanto (?:paguei|pago|gastei|paga|gasta|gastou|pagou)(?: no total)?",
        ),
        (("amount", "{count} * {price}"),),
        ("{answer} / {price}", "{count}"),
    ),
    Form(
        "change_money",
        (
            rf"{_BUYS}(?:,| and|, and) (?:i |we |he |she )?(?:pay|pays|paid) with #paid, "
            rf"how much change (?:do|does|did|will) {_SOMEBODY} (?:get|receive)(?: back)?",
            rf"{_BUYS_PT}(?:,| e|, e) (?:pago|paguei|paga|pagou) com #paid, "
            r"quanto (?:recebo|recebi|recebe|e|vou receber)(?: de)?(?: o)? troco",
        ),
        (("amount", "{count} * {price}"), ("change", "{paid} - {amount}")),
        ("{paid} - {answer}", "{count} * {price}"),
    ),
    Form(
        "price_of_one",
        (f"{_BOTH_COST}@second(?: cost)?", f"{_BOTH_COST_PT}@second"),
        (("without_difference", "{total} - {difference}"), ("half", "{without_difference} / 2")),
        ("{answer} + {answer} + {difference}", "{total}"),
    ),
    Form(
        "price_of_other",
        (f"{_BOTH_COST}@first(?: cost)?", f"{_BOTH_COST_PT}@first"),
        (("with_difference", "{total} + {difference}"), ("half", "{with_difference} / 2")),
        ("{answer} + {answer} - {difference}", "{total}"),
    ),
)

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
_TWICE = rf"@older is twice as old as @younger{_SUM}"
_TWICE_PT = rf"@older tem o dobro da idade d[eoa] @younger{_SUM_PT}"
_AGES = (
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
        (f"{_TWICE}@younger", f"{_TWICE_PT}@younger"),
        (("one_part", "{total} / 3"),),
        ("{answer} * 2 + {answer}", "{total}"),
    ),
    Form(
        "age_of_older",
        (f"{_TWICE}@older", f"{_TWICE_PT}@older"),
        (("one_part", "{total} / 3"), ("two_parts", "{one_part} * 2")),
        ("{answer} + {answer} / 2", "{total}"),
    ),
    Form(
        "age_now",
        (
            r"when i was #then(?: years old)?,? my @relative was half my age,? (?:now |and now )?"
            r"(?:i am|i'm) #now(?: years old)?(?: now)?, how old is (?:my @relative|she|he)(?: now)?",
            r"quando eu tinha #then(?: anos)?,? minha @relative tinha (?:a )?metade da minha idade,? "
            r"(?:agora |hoje )?(?:eu )?tenho #now(?: anos)?(?: agora| hoje)?, "
            r"quantos anos (?:ela tem|tem minha @relative|minha @relative tem)(?: agora| hoje)?",
        ),
        (
            ("half_then", "{then} / 2"),
            ("age_difference", "{then} - {half_then}"),
            ("age_later", "{now} - {age_difference}"),
        ),
        ("{now} - {answer}", "{then} - {then} / 2"),
    ),
)

FORMS = (*_PERCENTAGES, *_RATES, *_PRICES, *_AGES)
