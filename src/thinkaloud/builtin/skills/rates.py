"""Rates: speed, time and distance, trains that meet, machines that work together, a patch that doubles."""

from fractions import Fraction

from thinkaloud.builtin.question import Reading, Skill
from thinkaloud.builtin.units import UNITS
from thinkaloud.builtin.word_problem import Form, WordProblem, recogniser
from thinkaloud.builtin.words import Language, Unsolvable, normalize


def _names(dimension: str) -> str:
    """Returns a pattern of all spellings of the units of a dimension."""
    spellings = sorted((name for name, unit in UNITS.items() if unit.dimension == dimension), key=len)
    return "|".join(spelling.replace("/", "\\/") for spelling in reversed(spellings))


_DISTANCE = rf"#distance ?(?P<length>{_names('length')})"
_TIME = rf"#time ?(?P<duration>{_names('time')})"
_SPEED = rf"#speed ?(?P<rate>{_names('speed')})"
_MOVES = r"(?:travels?|travell?ed|drives?|drove|runs?|ran|goes|covers?|covered|walks?|walked|flies|rides?)"
_MOVES_PT = r"(?:percorreu?|percorre|anda|andou|viaja|viajou|roda|faz|fez|corre|correu)"
_LENGTH_PER_TIME = {
    "kilometer per hour": ("kilometer", "hour"),
    "meter per second": ("meter", "second"),
    "mile per hour": ("mile", "hour"),
    "knot": ("nautical mile", "hour"),
    "foot per second": ("foot", "second"),
}

_recognise = recogniser(
    Form(
        "speed",
        (
            rf"(?:an?|the|my) @mover {_MOVES} {_DISTANCE} in {_TIME}, (?:what is (?:its|his|her|the)(?: "
            rf"average)? "
            rf"speed|how fast (?:is|was|does|did) (?:it|he|she|the @mover)(?: going| travel(?:ing)?| drive"
            rf"| go)?)",
            rf"(?:o|a|uma?|meu) @mover {_MOVES_PT} {_DISTANCE} em {_TIME}, qual (?:e )?(?:a |sua |a sua "
            rf")?velocidade"
            r"(?: media)?",
        ),
        (("speed_value", "{distance} / {time}"),),
        ("{answer} * {time}", "{distance}"),
    ),
    Form(
        "duration",
        (
            rf"how long (?:does it take|will it take|would it take|do i need|does @mover take|is the trip)? ?"
            rf"(?:to )?(?:drive|travel|go|walk|cover|run|fly|ride|for)? ?{_DISTANCE} at {_SPEED}",
            rf"(?:an?|the) @mover {_MOVES} {_DISTANCE} at {_SPEED}, how long does (?:it|the trip) take",
            rf"quanto tempo (?:leva|demora|preciso|levo)(?: para| pra)? (?:percorrer|andar|dirigir|viajar"
            rf"|fazer) "
            rf"{_DISTANCE} a {_SPEED}",
        ),
        (("duration_value", "{distance} / {speed}"),),
        ("{answer} * {speed}", "{distance}"),
    ),
    Form(
        "distance",
        (
            rf"how far (?:do|does|will|can|would) @mover (?:travel|go|drive|get|walk|run|fly) in {_TIME} "
            rf"at {_SPEED}",
            rf"how far (?:do|does|will|can|would) @mover (?:travel|go|drive|get|walk|run|fly) at {_SPEED} "
            rf"in {_TIME}",
            rf"(?:an?|the) @mover {_MOVES} (?:at )?{_SPEED} for {_TIME}, how far does (?:it|he|she) (?:go"
            rf"|travel|get)",
            rf"que distancia (?:percorre|anda|viaja) @mover em {_TIME} a {_SPEED}",
        ),
        (("distance_value", "{speed} * {time}"),),
        ("{answer} / {speed}", "{time}"),
    ),
    Form(
        "meeting",
        (
            rf"two (?:trains|cars|people|cyclists) (?:are |start |that are )?{_DISTANCE} apart,? (?:and "
            rf")?(?:they )?"
            rf"(?:drive|travel|move|head|go|run|ride|are traveling|are heading)? ?towards? each other,? at "
            rf"#speed(?: ?(?:{_names('speed')}))? and #other_speed ?(?P<rate>{_names('speed')}), "
            r"(?:when|after how long|in how many hours|how long until) (?:do |will )?they meet",
            rf"(?:dois|2) (?:trens|carros|ciclistas) (?:estao )?a {_DISTANCE}(?: de distancia)?(?: um do "
            rf"outro)?,? "
            rf"(?:e )?(?:vao|viajam|andam|seguem|correm) um (?:em direcao a?o|ao encontro do|contra o) "
            rf"outro,? a "
            rf"#speed(?: ?(?:{_names('speed')}))? e #other_speed ?(?P<rate>{_names('speed')}), "
            r"(?:quando|em quanto tempo|em quantas horas|depois de quanto tempo)(?: eles)? se encontram",
        ),
        (("closing_speed", "{speed} + {other_speed}"), ("meeting_time", "{distance} / {closing_speed}")),
        ("{answer} * {speed} + {answer} * {other_speed}", "{distance}"),
    ),
    Form(
        "machines",
        (
            r"#machines ~maker (?:take|need) #minutes minutes to (?:make|produce|build) #items ~item, how "
            r"(?:long|many "
            r"minutes) (?:would|does|will|do)(?: it take)? #more_machines ~maker (?:take |need )?to "
            r"(?:make|produce|build) "
            r"#more_items ~item",
            r"#machines ~maker (?:levam|demoram|precisam de) #minutes minutos (?:para|pra) (?:fazer"
            r"|produzir) #items ~item, "
            r"quant(?:o tempo|os minutos) (?:levam|levariam|demoram|demorariam) #more_machines ~maker "
            r"(?:para|pra) "
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
            r"(?:.*\b(?:doubles?|doubling)\b.*\b(?:every|each|per) day|(?:.*\b)?(?:every|each) day,? "
            r".*\bdoubles?\b)[^#\d]*"
            r"takes? #days days [^\d]*\b(?:cover|fill)s? the (?:entire |whole )?\w+, (?:how (?:long|many "
            r"days)|on which "
            r"day|when)\b[^\d]*\bhalf\b[^\d]*",
            r"[^\d]*(?:dobra|duplica)[^\d]*(?:todo dia|por dia|a cada dia|todos os dias)[^\d]* #days dias "
            r"[^\d]*"
            r"(?:cobrir|cobre|encher)[^\d]*, (?:quantos dias|quanto tempo|em que "
            r"dia)\b[^\d]*\bmetade\b[^\d]*",
        ),
        (("day_before", "{days} - 1"),),
        ("{answer} + 1", "{days}"),
    ),
)


def recognise(reading: Reading) -> WordProblem | None:
    """Recognises a rate. Raises `Unsolvable` where a speed is in other units than its distance or time."""
    problem = _recognise(reading)
    if problem is None:
        return None
    units = {
        name: UNITS[normalize(text)]
        for name, text in problem.words.items()
        if name in ("length", "duration", "rate")
    }
    if "rate" in units:
        fitting = _LENGTH_PER_TIME[units["rate"].english.partition("/")[0]]
        for name, singular in zip(("length", "duration"), fitting, strict=True):
            if name in units and not units[name].english.startswith(f"{singular}/"):
                raise Unsolvable("mixed_units", f"{problem.words[name]}, {problem.words['rate']}")
            units.setdefault(name, UNITS[singular])
    names = {name: unit.names(reading.language) for name, unit in units.items()}
    if "duration" in units:
        names["per"] = units["duration"].name(reading.language, Fraction(1))
    return WordProblem(problem.form, problem.numbers, {**problem.words, **names})


RATES = Skill(
    "rates",
    recognise,
    {
        Language.EN: "A train travels 180 km in 2 hours. What is its speed?",
        Language.PT: "Um trem percorre 180 km em 2 horas. Qual é a velocidade?",
    },
    "train travels hours speed fast long take machines minutes towards each other meet trem percorre horas "
    "velocidade tempo maquinas minutos",
)
