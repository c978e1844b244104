"""Words that the solver reads, normalized: small talk, words of each kind of question, numbers and dates."""

SAYINGS = {
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
"""Small talk by the key of its answer."""

KINDS = {
    "talk": "hello thanks what help examples name ajuda obrigado exemplos voce pode fazer",
    "make": "make form obtain from using numbers faca forme obtenha usando numeros",
    "reach": "reach countdown chegue chegar alcance",
    "knights": """knight knights knave knaves liar liars says both exactly least cavaleiro cavaleiros patife
        patifes mentiroso mentirosos ambos exatamente""",
    "days": """days between until since weekday week today tomorrow yesterday after before christmas january
        february march april june july august september october november december dias entre semana hoje
        amanha ontem depois antes janeiro fevereiro marco abril maio junho julho agosto setembro outubro
        novembro dezembro faltam natal date data""",
    "weekday": "",
    "percent": "percent percentage increase decrease discount change desconto porcentagem cento aumento",
    "root": "square cube root raiz quadrada cubica",
    "primes": """prime primes number numbers factor factors factorize common divisor greatest least multiple
        primo primos fatore fatores maximo minimo comum""",
    "compare": "which larger bigger greater smaller qual maior menor",
    "letters": "letters word count reverse backwards letras palavra conte inverta",
    "rates": """train travels hours speed fast long take machines minutes towards each other meet trem
        percorre horas velocidade tempo maquinas minutos""",
    "prices": "cost costs much each change together more total custam custa cada troco quanto",
    "ages": "older years together twice half when sister brother idade anos metade dobro irma irmao juntos",
    "stock": "have give gives left many apples tenho sobram quantas restam",
    "units": "convert converta converter",
    "arithmetic": """what calculate compute plus minus times divided power factorial squared cubed quanto
        calcule mais menos vezes dividido elevado fatorial quadrado""",
    "connect": "connect model models real language provider conectar conecto modelo modelos verdade chave",
}
"""Every kind of question in the order of the examples, with words that it is asked in.

Typing errors are corrected towards these words. Each kind but small talk has an example among the phrases;
"units" also has the names of the units.
"""

CONNECTED = {
    "action": (
        "connect, use, add, set, put, enter, store, save, switch to, change(?: to)?, set ?up, configure, "
        "get, select, choose, pick, talk to, ask, enable, install, run, plug in, hook up, try, conecto, "
        "conectar, uso, usar, adiciono, adicionar, mudo, mudar, troco, trocar, configuro, configurar, "
        "escolho, escolher, instalo, instalar, ligo, ligar, defino, definir, coloco, colocar, ponho"
    ),
    "object": (
        "models?, llms?, chatgpt, gpt, openai, claude, anthropic, gemini, ollama, llama, lm ?studio, vllm, "
        "mistral, deepseek, openrouter, api, keys?, providers?, modelos?, chaves?, provedor(?:es)?"
    ),
}
"""What is done with a real model, and what it is called."""

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
_UNITS_PT = """zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze
    dezesseis dezessete dezoito dezenove"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS_PT = "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"
_HUNDREDS_PT = "cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"
NUMBER_WORDS = {
    **{word: value for words in (_UNITS, _UNITS_PT) for value, word in enumerate(words.split())},
    **{word: 10 * value for words in (_TENS, _TENS_PT) for value, word in enumerate(words.split(), 2)},
    **{word: 100 * value for value, word in enumerate(_HUNDREDS_PT.split(), 1)},
    "cem": 100, "uma": 1, "duas": 2, "catorze": 14, "duzentas": 200,
}  # fmt: skip
NUMBER_FACTORS = {
    "hundred": 100, "thousand": 1000, "mil": 1000, "million": 10**6, "milhao": 10**6, "milhoes": 10**6
}  # fmt: skip

_MONTHS = """january jan janeiro, february feb fevereiro fev, march mar marco, april apr abril abr,
    may maio mai, june jun junho, july jul julho, august aug agosto ago, september sep sept setembro set,
    october oct outubro out, november nov novembro, december dec dezembro dez"""
MONTHS = {name: number for number, names in enumerate(_MONTHS.split(","), 1) for name in names.split()}
RELATIVE_DAYS = {
    "the day after tomorrow": 2, "depois de amanha": 2, "today": 0, "hoje": 0, "tomorrow": 1, "amanha": 1,
    "yesterday": -1, "ontem": -1,
}  # fmt: skip
HOLIDAYS = {
    "christmas eve": (12, 24), "vespera de natal": (12, 24), "christmas": (12, 25), "xmas": (12, 25),
    "natal": (12, 25), "new year's eve": (12, 31), "new year": (1, 1), "ano novo": (1, 1),
    "halloween": (10, 31), "valentine's day": (2, 14), "dia dos namorados": (6, 12),
}  # fmt: skip
"""Month and day."""

_GAINS = """get gets got find finds found buy buys bought receive receives received pick picks picked win wins
    won collect collects collected make makes made bake bakes baked compra compro comprou comprei ganha ganho
    ganhou ganhei recebe recebo recebeu recebi acha acho achou achei colhe colhi colheu"""
_LOSES = """eat eats ate give gives gave lose loses lost sell sells sold use uses used spend spends spent
    throw throws threw drop drops dropped break breaks broke come comi como comeu da dou deu dei perde
    perco perdeu perdi vende vendo vendeu vendi gasta gasto gastou gastei usa uso usou usei"""
CHANGE_VERBS = {**dict.fromkeys(_GAINS.split(), 1), **dict.fromkeys(_LOSES.split(), -1)}
"""Verbs by which there is more (1) or less (-1) of a thing."""
