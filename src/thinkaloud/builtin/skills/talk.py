"""Small talk: greetings, thanks, and what the solver is. It never pretends to be a language model."""

import re

from thinkaloud.builtin.question import Reading, Remark, Skill

_SAYINGS = {
    "greeting": """hi, hello, hey, hello there, hi there, hey there, hello world, good morning, good
        afternoon, good evening, greetings, yo, howdy, hallo, oi, ola, opa, e ai, bom dia, boa tarde,
        boa noite, oi tudo bem, ola tudo bem, oie, hola, hello how are you, hi how are you, helo, hii""",
    "how_are_you": """how are you, how are you doing, how are you today, how's it going, what's up,
        whats up, sup, tudo bem, tudo bom, como vai, como vai voce, como voce esta, como esta, beleza""",
    "thanks": """thanks, thank you, thank you very much, thanks a lot, thx, ty, great thanks, nice,
        cool, great, perfect, wow, awesome, good job, well done, obrigado, obrigada, muito obrigado,
        muito obrigada, valeu, legal, otimo, perfeito, boa, show""",
    "bye": "bye, goodbye, bye bye, see you, see you later, good night, quit, exit, tchau, ate logo, ate mais",
    "who": """who are you, what are you, what is this, what's this, what is thinkaloud, who made you,
        what model are you, which model are you, what model is this, which model is this, are you
        chatgpt, are you gpt, are you claude, are you gemini, are you an ai, are you ai, are you a
        robot, are you a bot, are you human, are you real, are you a language model, are you an llm, are
        you a model, are you intelligent, what is your name, what's your name, do you think, can you
        think, is this free, are you free, do you run offline, does this work offline, do you need the
        internet, do you need internet, does this need the internet, do i need a key, do i need an api
        key, e gratis, isso e gratis, funciona offline, precisa de internet, preciso de uma chave, quem
        e voce, o que e voce, o que voce e, voce e uma ia, voce e o chatgpt, voce e um robo,
        voce e humano, qual e o seu nome, qual o seu nome, qual seu nome, que modelo e voce, o que e
        isto, o que e isso, o que e thinkaloud, o que e o thinkaloud, voce e um modelo de linguagem,
        voce pensa""",
    "privacy": """is my data sent anywhere, where is my data sent, where does my data go, is my data safe, is
        my data private, is this private, is it private, is this safe, do you store my data, do you save my
        data, who sees my data, who can see this, how much does it cost, how much does this cost, what does
        it cost, what does this cost, what is the price, quanto custa, quanto isso custa, quanto custa isso,
        meus dados ficam salvos, meus dados estao seguros, para onde vao meus dados, isso e seguro, e
        seguro, isso e privado, voce guarda meus dados""",
    "help": """help, help me, ?, what can you do, what can i do, what can i ask, what can i ask you,
        what can you solve, what do you do, what do you know, what can you help me with, how can you
        help, how can you help me, how does this work, how do you work, what should i ask, what now,
        examples, give me an example, show me an example, show me examples, show me what you can do,
        commands, menu, start, tell me what you can do, what are you able to do, what can i do here,
        what can you do for me, demo, what questions can i ask, what kind of questions can i ask,
        surprise me, impress me, what else can you do, ajuda, ajude me, me ajude, me ajuda, socorro, o
        que voce faz, o que voce sabe fazer, o que voce pode fazer, o que sabe fazer, o que posso
        perguntar, o que posso fazer, como funciona, como isso funciona, como voce funciona, exemplos,
        me de um exemplo, mostre um exemplo, para que voce serve, comecar""",
    "test": """test, testing, this is a test, ping, teste, testando, isto e um teste, isso e um teste,
        123, 1 2 3, asdf""",
}
_KEYS = {
    saying: key
    for key, sayings in _SAYINGS.items()
    for saying in (" ".join(s.split()) for s in sayings.split(","))
}
_SHORT_FORMS = {"vc": "voce", "eh": "e", "u": "you", "r": "are", "wat": "what", "wot": "what"}
_FILLER = re.compile(
    r"\b(?:please|por favor|my friend|friend|solver|bot|thinkaloud|man|dude|mate|amigo|amiga)$"
)
_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|oi|ola|good (?:morning|afternoon|evening)|bom dia|boa tarde|boa noite)"
    r"(?: there| solver| thinkaloud)?[,.!:]? +|please,? +|por favor,? +)+",
    re.IGNORECASE,
)


def without_greeting(text: str) -> str:
    """Removes a greeting at the start of a question."""
    return _GREETING.sub("", text, count=1) if _GREETING.match(text) else text


def saying_key(text: str) -> str:
    """Returns the kind of small talk that a normalized text is; empty if it is none."""
    words = re.sub(r"[,.!:;)(]+", " ", text.rstrip("?!. ") or text).split()
    plain = " ".join(_SHORT_FORMS.get(word, word) for word in words)
    return _KEYS.get(plain) or _KEYS.get(_FILLER.sub("", plain).strip(), "")


def recognise(reading: Reading) -> Remark | None:
    """Recognises small talk."""
    key = saying_key(reading.normalized)
    if not key:
        return None
    # Imported here because the list of examples is made from all skills, and this is one of them.
    from thinkaloud.builtin.skills import all_examples, three_examples

    examples = all_examples if key == "help" else three_examples
    return Remark(f"think.{key}", f"answer.{key}", {"examples": examples(reading.language)})


TALK = Skill(
    "small talk",
    recognise,
    {},
    "hello thanks what help examples name ajuda obrigado exemplos voce pode fazer",
)
