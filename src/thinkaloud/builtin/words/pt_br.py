"""Phrases in Brazilian Portuguese."""

PT_BR = {
    # Introduction
    "about": (
        "Sou o solucionador embutido do Thinkaloud: um pequeno programa que roda nesta máquina e resolve "
        "alguns tipos de problema por busca. Não sou um modelo de linguagem e não entendi esta pergunta.\n\n"
        "Sei resolver, por exemplo:\n"
        "- faça 24 com 4 7 8 8\n"
        "- chegue a 952 usando 25 50 75 100 3 6\n"
        "- A diz que B é patife. B diz que somos ambos cavaleiros.\n"
        "- quantos dias há entre 01/01/2026 e 15/11/2026\n"
        "- em que dia da semana cai 15 de novembro de 2026\n"
        "- converta 5 km em milhas\n"
        "- quanto é 17 * 3 - 9\n\n"
        "Para o resto, conecte um modelo de verdade: defina uma chave, como ANTHROPIC_API_KEY, "
        "OPENAI_API_KEY, GEMINI_API_KEY ou OPENROUTER_API_KEY, e diga o nome do modelo, ou rode Ollama, "
        "llama.cpp, vLLM ou LM Studio nesta máquina."
    ),
    "about.local_servers": (
        "Encontrados nesta máquina: {servers}. Diga o nome de um modelo deles para usá-lo; eu nunca troco "
        "sozinho."
    ),
    "think.not_understood": (
        "Isto não é um problema de números, uma ilha de cavaleiros e patifes, uma data, uma conversão nem "
        "uma conta que eu saiba ler."
    ),
    # Questions that cannot be solved
    "malformed": "Entendi de que tipo é a pergunta, mas não consigo trabalhar com ela assim.",
    "too_long": "A pergunta é longa demais: leio no máximo {limit} caracteres.",
    "many_numbers": "São {text} números. Para chegar a um alvo com parte deles, aceito no máximo {limit}.",
    "many_numbers_all_used": (
        "São {text} números. Para formar um alvo com todos, aceito no máximo {limit}; com “chegue a” em vez "
        "de “faça” nem todos precisam ser usados, e aceito 6."
    ),
    "large_number": "{text} é grande demais: aceito números até {limit}.",
    "large_target": "{text} é grande demais: aceito alvos até {limit}.",
    "zero": "Para chegar a um alvo, trabalho só com inteiros positivos, e aqui há um 0.",
    "many_people": "São habitantes demais: aceito no máximo {limit}.",
    "not_two": (
        "“Nós dois” pede exatamente dois habitantes, e aqui conto {text}. Diga “todos nós”, ou os nomes."
    ),
    "unread": (
        "Não consegui ler esta parte: “{text}”. Leio afirmações como “B é patife”, “somos ambos cavaleiros”, "
        "“pelo menos um de nós é mentiroso”, “B e C são iguais”, ligadas por e, ou, não, se … então."
    ),
    "ambiguous_date": (
        "{text} pode ser dois dias diferentes. Escreva 2026-04-03, ou com o nome do mês: 3 de abril de 2026."
    ),
    "no_such_date": "Essa data não existe: {text}.",
    "out_of_calendar": "Essa data fica fora dos anos 1 a 9999, que são os que tenho.",
    "unknown_unit": (
        "Não conheço a unidade “{text}”. Conheço as comuns de comprimento, massa, volume, temperatura, "
        "tempo, velocidade e dados."
    ),
    "unlike_units": "Estas não medem a mesma coisa: {text}.",
    "too_cold": "Isso fica abaixo do zero absoluto.",
    "long_amount": "A quantidade é longa demais: aceito no máximo {limit} caracteres.",
    "long_sum": "A expressão é longa demais: aceito no máximo {limit} caracteres.",
    "not_arithmetic": "Não consigo ler isto como conta: falta ou sobra um número, um sinal ou um parêntese.",
    "too_deep": "Há parênteses demais, uns dentro dos outros: aceito no máximo 30 níveis.",
    "too_large": "O resultado é grande demais para mim: paro em cerca de 900 dígitos e em expoentes de 1000.",
    "by_zero": "Nada pode ser dividido por zero.",
    "root": "Aceito somente expoentes inteiros.",
    # Number puzzles
    "think.all_used": (
        "De {numbers}, cada um usado uma vez, quero {target}. Frações no caminho são permitidas."
    ),
    "think.any_used": (
        "De {numbers}, cada um usado no máximo uma vez, quero {target}. No caminho: inteiros positivos."
    ),
    "think.leaves": "{left} {sign} {right} = {value} deixa {rest}.",
    "think.reaches": "{left} {sign} {right} = {value}.",
    "think.nothing_reaches": (
        "{left} {sign} {right} = {value} deixa {rest}; nada mais com estes chega a {target} ({tried} "
        "tentativas)."
    ),
    "think.seen": "{left} {sign} {right} = {value} deixa {rest}, que já tentei.",
    "think.misses": "{left} {sign} {right} = {value} não é {target}.",
    "think.found": "Achei: {expression} = {target}. Combinações tentadas: {tried}.",
    "think.exhausted": "Isso era tudo: {tried} combinações, e nenhuma dá {target}.",
    "think.stopped": "Paro aqui, depois de {tried} combinações.",
    "think.omitted": "… mais {n} passos, não contados aqui …",
    # Knights and knaves
    "think.statement": "{person} diz: “{text}”.",
    "think.fact": "Dado: “{text}”.",
    "knight": "cavaleiro",
    "knave": "patife",
    "is": "{person} é {kind}",
    "and": " e ",
    "think.assume": "Suponha que {person} é {kind}.",
    "think.knight_lying": "Então “{text}”, de {person}, seria falso, mas um cavaleiro diz a verdade: não.",
    "think.knave_truthful": "Então “{text}”, de {person}, seria verdade, mas um patife mente: não.",
    "think.fact_false": "Então o dado “{text}” seria falso: não.",
    "think.consistent": "Tudo se encaixa: {people}.",
    # Calculations
    "step.operation": "{expression} = {value}.",
    "step.total": "Logo, {expression} = {value}.",
    "step.leap_days": "Dias bissextos antes do ano de {day}: {expression} = {value}.",
    "step.day_of_year": "Dia do ano, para {day}: {expression} = {value}.",
    "step.day_number": "Dias desde o início do calendário, com {day}: {expression} = {value}.",
    "step.between": "A diferença: {expression} = {value}.",
    "step.weekday": (
        "O dia 1 foi uma segunda-feira, e semanas inteiras nada mudam: {expression} = {value} dias além de "
        "segunda."
    ),
    "step.away": "Contando: {expression} = {value}.",
    "step.to_reference": "{amount_unit}, em {reference}: {expression} = {value}.",
    "step.from_reference": "Em {target}: {expression} = {value}.",
    # Answers
    "answer.expression": "{expression} = {target}",
    "answer.impossible": "Não há como obter {target} de {numbers}. Tentei todas as combinações: {tried}.",
    "answer.stopped": (
        "Não sei. Parei depois de {tried} combinações sem achar um caminho, e ainda pode haver um."
    ),
    "answer.people": "{people}.",
    "answer.contradiction": (
        "Isto não pode ser: nenhum arranjo de cavaleiros e patifes combina com o que foi dito."
    ),
    "answer.undecided": "Isto não decide a questão: {n} arranjos servem.",
    "answer.certain": "Certo é apenas isto: {people}.",
    "answer.between": "De {first} a {last} são {n} dias.",
    "answer.between_one_day": "De {first} a {last} é 1 dia.",
    "answer.weekday": "{day}: {weekday}.",
    "answer.after": "{n} dias depois de {day}: {result}.",
    "answer.before": "{n} dias antes de {day}: {result}.",
    "answer.converted": "{amount_unit} = {value} {target}",
    "answer.converted_about": "{amount_unit} ≈ {value} {target} (arredondado)",
    "answer.value": "{expression} = {value}",
    "answer.value_about": "{expression} = {exact} ≈ {value} (arredondado)",
    "answer.unverified": (
        "Não confio no meu próprio resultado e por isso não o dou: conferido de outro modo, falhou. {reason}"
    ),
    "weekdays": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    # Checks
    "check.task": "Confira esta resposta.\nPergunta: {question}\nResposta: {answer}",
    "check.right": "Certo. {reason}",
    "check.wrong": "Errado. {reason}",
    "check.unreadable": "Só confiro respostas a perguntas que sei ler, e esta não é uma delas.",
    "check.no_expression": "A resposta não tem uma expressão que eu possa calcular.",
    "check.bad_expression": "“{text}” não é uma expressão que eu possa calcular.",
    "check.gives": "{expression} dá {value}.",
    "check.wanted": "{expression} dá {value}, e o pedido era {target}.",
    "check.other_numbers": "{expression} não usa os números dados como o problema pede.",
    "check.not_whole": "{expression} passa por {value}, que não é um inteiro positivo.",
    "check.reachable": (
        "É possível: calculado a partir de todas as partes dos números, {target} está entre o que elas "
        "formam."
    ),
    "check.unreachable": (
        "Calculado a partir de todas as partes dos números, {target} não está entre o que elas formam."
    ),
    "check.arrangements": "De todos os arranjos, {n} servem.",
    "check.expected": "Calculado de outro modo, é {expected}.",
    "think.check": "Calculo de novo, de outro modo que uma busca.",
    # Tools
    "think.tool_call": "Deixo a ferramenta “{tool}” conferir isto: {task}",
    "think.tool_agrees": "“{tool}” dá {result}, como eu.",
    "think.tool_result": "“{tool}” diz: {result}",
    "tool.calculator_agrees": "A calculadora concorda.",
    "tool.checker_agrees": "O conferente concorda.",
    "tool.calculator_differs": (
        "Mas a calculadora dá {result}, onde eu tenho {value}. Um de nós está errado; o meu conferi duas "
        "vezes."
    ),
    "tool.calculator_failed": "A calculadora não ajudou: devolveu “{result}”.",
    "tool.checker_disagrees": "Mas o conferente não concorda: “{result}”",
    "tool.checker_unclear": "O que o conferente disse eu não consigo ler como sim ou não: “{result}”",
    "tool.no_result": "A ferramenta “{tool}” não devolveu resultado.",
}
