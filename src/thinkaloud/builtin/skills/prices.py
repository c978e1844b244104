"""Prices: "3 apples cost $6. How much do 5 apples cost?", change, and the bat and the ball."""

from thinkaloud.builtin.question import Skill
from thinkaloud.builtin.word_problem import Form, recogniser
from thinkaloud.builtin.words import Language

_ASKS_PRICE = r",? (?:then |entao )?(?:how much|what) (?:do|does|would|will) #wanted ~thing(?: cost)?"
_ASKS_PRICE_PT = r",? (?:entao )?quanto (?:custam|custa|custariam|custaria) #wanted ~thing"
_SOMEBODY = r"(?:i|we|he|she|[a-z]+)"
_BUYS = rf"{_SOMEBODY} (?:buy|buys|bought|get|gets) #count ~thing (?:at|for) #price (?:each|apiece|per piece)"
_BUYS_PT = r"(?:eu )?(?:comprei|compro|compra|comprou) #count ~thing (?:a|por|de) #price cada(?: um| uma)?"
_TOGETHER = (
    r"(?:an? )?@first and (?:an? )?@second (?:together )?cost #total(?: in total| together| altogether)?, "
    r"(?:and )?the @first costs #difference more than the @second, (?:how much|what) (?:does|is) the "
)
_TOGETHER_PT = (
    r"(?:uma? )?@first e (?:uma? )?@second custam(?: juntos| juntas| ao todo)? #total"
    r"(?: no total| juntos| juntas| ao todo)?, (?:e )?(?:o|a) @first custa #difference (?:a )?mais (?:do )?"
    r"que (?:o|a) @second, quanto custa (?:o|a) "
)

PRICES = Skill(
    "prices",
    recogniser(
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
            (f"{_TOGETHER}@second(?: cost)?", f"{_TOGETHER_PT}@second"),
            (("without_difference", "{total} - {difference}"), ("half", "{without_difference} / 2")),
            ("{answer} + {answer} + {difference}", "{total}"),
        ),
        Form(
            "price_of_other",
            (f"{_TOGETHER}@first(?: cost)?", f"{_TOGETHER_PT}@first"),
            (("with_difference", "{total} + {difference}"), ("half", "{with_difference} / 2")),
            ("{answer} + {answer} - {difference}", "{total}"),
        ),
    ),
    {
        Language.EN: "A bat and a ball cost $1.10. The bat costs $1 more than the ball. How much does the "
        "ball cost?",
        Language.PT: "Um taco e uma bola custam R$ 1,10. O taco custa R$ 1 a mais que a bola. Quanto custa a "
        "bola?",
    },
    "cost costs much each change together more total custam custa cada troco quanto",
)
