"""Phrases in Brazilian Portuguese."""

PT_BR = {
    # Small talk, and what the solver is
    "read_as": "Li isto como “{text}”.",
    "think.greeting": "Isto é uma saudação, sem nada para calcular.",
    "answer.greeting": (
        "Olá! Sou o solucionador embutido do Thinkaloud: um pequeno programa, não um modelo de linguagem. "
        "Resolvo problemas e contas e mostro cada passo. Experimente um destes:\n{examples}"
    ),
    "think.how_are_you": "Isto pergunta como estou. Um programa não tem humor.",
    "answer.how_are_you": (
        "Sou um pequeno programa e não tenho humor, mas tudo funciona. Experimente um destes:\n{examples}"
    ),
    "think.thanks": "Isto é um agradecimento ou elogio, sem nada para calcular.",
    "answer.thanks": "De nada! Se quiser, experimente agora um destes:\n{examples}",
    "think.bye": "Isto é uma despedida.",
    "answer.bye": "Até logo! Quando voltar, pode experimentar um destes:\n{examples}",
    "think.who": "Isto pergunta o que eu sou.",
    "answer.who": (
        "Sou o solucionador embutido do Thinkaloud. Não sou um modelo de linguagem nem uma IA: sou um "
        "pequeno programa que roda nesta máquina, sem chave e sem rede. Reconheço alguns tipos de pergunta, "
        "resolvo por busca e aritmética exata, e o que se vê como pensamento é o registro verdadeiro disso. "
        "Experimente um destes:\n{examples}"
    ),
    "think.privacy": "Isto pergunta para onde vão as perguntas e quanto custam.",
    "answer.privacy": (
        "Perguntar a mim é grátis, e o que você me pergunta não sai desta máquina. Se você conectar um "
        "modelo de verdade, o provedor dele recebe suas perguntas e pode cobrar por elas; um servidor de "
        "modelos seu não faz nem um nem outro. Experimente um destes:\n{examples}"
    ),
    "think.help": "Isto pergunta o que sei fazer: listo um exemplo de cada tipo de pergunta que leio.",
    "answer.help": (
        "Sou um pequeno programa, não um modelo de linguagem. Leio estes tipos de pergunta, em português e "
        "inglês, e mostro cada passo:\n{examples}"
    ),
    "think.test": "Isto é um teste.",
    "answer.test": "Funciona: estou aqui, e esta é a minha resposta. Experimente um destes:\n{examples}",
    "think.not_understood": "Comparei isto com cada tipo de pergunta que sei ler, e nenhum serve.",
    "answer.not_understood": (
        "Não sei responder a isto: sou um pequeno programa, não um modelo de linguagem, e leio só alguns "
        "tipos de pergunta. Três coisas para experimentar:\n{examples}"
    ),
    "think.word_problem": (
        "Isto tem números e pergunta por um, então parece um problema em palavras, mas nenhuma forma que "
        "conheço serve para tudo."
    ),
    "answer.word_problem": (
        "Isto parece um problema em palavras, mas não consigo ler tudo com certeza e por isso não adivinho. "
        "Sou um pequeno programa, não um modelo de linguagem. Escreva a própria conta, ou experimente um "
        "destes:\n{examples}"
    ),
    # Real models
    "think.connect": (
        "Isto pede um modelo de verdade: procuro servidores nesta máquina e chaves.\n{servers}\n{keys}"
    ),
    "connect.servers": "Servidores que respondem: {servers}.",
    "connect.no_servers": "Nenhum servidor de modelos responde nos endereços do catálogo.",
    "connect.keys": "Provedores com chave: {keys}. Vejo que ela existe, e não a mostro.",
    "connect.no_keys": "Nenhum provedor tem chave.",
    "answer.connect": (
        "Já dá para perguntar a um modelo de verdade:\n{found}\n\nNa página e no chat, escolha-o na lista de "
        "modelos; na linha de comando, diga o nome com -m. Eu nunca troco sozinho."
    ),
    "answer.connect_nothing": (
        "Não achei chave nem servidor de modelos nesta máquina. Há dois caminhos para um modelo de "
        "verdade:\n- Com chave: rode `thinkaloud keys set anthropic` (ou openai, gemini, openrouter, ...), "
        "ou defina uma variável como ANTHROPIC_API_KEY ou OPENAI_API_KEY. Depois: `thinkaloud ask -m "
        "claude-opus-4.5 Olá`\n- Sem chave: inicie Ollama, llama.cpp, LM Studio ou vLLM nesta máquina. "
        "Depois: `thinkaloud ask -m ollama/MODELO Olá`\n\n`thinkaloud models` lista os modelos que conheço, "
        "e `thinkaloud doctor` mostra o que foi achado."
    ),
    "connect.server": "{provider} roda em {url}: {models}",
    "connect.empty_server": "{provider} roda em {url}, mas ainda não lista nenhum modelo",
    "connect.key": "{provider} tem chave ({source}): {model}",
    # An example of each kind of question
    "example.make": "faça 24 com 4 7 8 8",
    "example.reach": "chegue a 952 usando 25 50 75 100 3 6",
    "example.knights": "A diz que B é patife. B diz que somos ambos cavaleiros.",
    "example.days": "quantos dias há entre 01/01/2026 e 15/11/2026",
    "example.weekday": "em que dia da semana cai 15 de novembro de 2026",
    "example.percent": "quanto é 15% de 80",
    "example.root": "raiz quadrada de 2",
    "example.primes": "91 é primo?",
    "example.compare": "qual é maior, 9,11 ou 9,9?",
    "example.letters": "quantos r tem a palavra carro?",
    "example.rates": "Um trem percorre 180 km em 2 horas. Qual é a velocidade?",
    "example.prices": (
        "Um taco e uma bola custam R$ 1,10. O taco custa R$ 1 a mais que a bola. Quanto custa a bola?"
    ),
    "example.ages": (
        "Quando eu tinha 6 anos, minha irmã tinha metade da minha idade. Hoje tenho 70. Quantos anos ela tem?"
    ),
    "example.stock": "Tenho 12 balas e dou 5 para Ana. Quantas sobram?",
    "example.units": "converta 5 km em milhas",
    "example.arithmetic": "quanto é 17 * 3 - 9",
    "example.connect": "como conecto um modelo de verdade?",
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
    "large_factorial": "{text}! é grande demais: aceito fatoriais até {limit}!.",
    "large_factored": "{text} é grande demais: fatoro números até {limit}.",
    "zero_factored": "Zero não é primo, e todo número o divide.",
    "many_primes": "{text} é demais: listo primos até {limit}.",
    "root_of_negative": "{text} é negativo, e só tiro raízes de números a partir de zero.",
    "long_word": "A palavra é longa demais: aceito no máximo {limit} letras.",
    "mixed_units": (
        "Estas unidades não combinam, e não as misturo: {text}. Converta uma antes, por exemplo: converta 10 "
        "milhas em km."
    ),
    "story_makes_no_sense": "Calculado como está, o resultado seria {text}, e isso não faz sentido aqui.",
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
    "think.found": "Achei depois de {tried} combinações: {expression} = {target}.",
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
    "think.one_fits": "Todos os arranjos de {people} pessoas foram tentados: exatamente {n} serve.",
    "think.several_fit": "Todos os arranjos de {people} pessoas foram tentados: {n} servem.",
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
    # Percentages and word problems
    "step.hundredth": "Um por cento de {base}: {expression} = {value}.",
    "step.percents": "{percent}% de {base}: {expression} = {value}.",
    "step.more": "Somado a {base}: {expression} = {value}.",
    "step.less": "Tirado de {base}: {expression} = {value}.",
    "step.share": "Como parte do todo: {expression} = {value}.",
    "step.percentage": "Em por cento: {expression} = {value}.",
    "step.difference": "A diferença: {expression} = {value}.",
    "answer.percent_of": "{percent}% de {base} = {value}",
    "answer.percent_more": "{base} mais {percent}% = {value}",
    "answer.percent_less": "{base} menos {percent}% = {money}",
    "answer.what_percent": "{part} é {value}% de {base}: {part} ÷ {base} × 100 = {value}",
    "answer.percent_change": "De {old} para {new}, a variação em por cento = {value}",
    "step.unit_price": "Um custa {expression} = {value}.",
    "step.total_price": "Então {wanted} custam {expression} = {value}.",
    "step.amount": "A compra custa {expression} = {value}.",
    "step.change": "O que resta de {paid}: {expression} = {value}.",
    "step.without_difference": "Sem a diferença os dois seriam iguais: {expression} = {value}.",
    "step.with_difference": "Com a diferença duas vezes os dois seriam iguais: {expression} = {value}.",
    "step.half": "A metade disso: {expression} = {value}.",
    "answer.price_of_several": "O preço de {wanted} {thing_again} é {money}.",
    "answer.amount_due": "O total é {money}.",
    "answer.change_money": "O troco é {money}.",
    "answer.price_of_one": "O preço pedido ({second}) é {money}.",
    "answer.price_of_other": "O preço pedido ({first}) é {money}.",
    "step.one_part": "Uma parte: {expression} = {value}.",
    "step.two_parts": "Duas partes: {expression} = {value}.",
    "step.half_then": "A metade da idade, então: {expression} = {value}.",
    "step.age_difference": "A diferença nunca muda: {expression} = {value}.",
    "step.age_later": "Agora: {expression} = {value}.",
    "answer.age_of_younger": "{younger} tem {value} anos.",
    "answer.age_of_older": "{older} tem {value} anos.",
    "answer.age_now": "A idade pedida ({relative}) agora é {value} anos.",
    "step.speed_value": "Velocidade é distância por tempo: {expression} = {value}.",
    "step.duration_value": "Tempo é distância por velocidade: {expression} = {value}.",
    "step.distance_value": "Distância é velocidade vezes tempo: {expression} = {value}.",
    "step.closing_speed": "Aproximam-se a {expression} = {value} {rate}.",
    "step.meeting_time": "Tempo é distância por velocidade: {expression} = {value}.",
    "step.machine_minutes": "Todo o trabalho: {expression} = {value} minutos de uma máquina.",
    "step.minutes_per_item": "Para um item: {expression} = {value}.",
    "step.all_minutes": "Para {more_items} itens: {expression} = {value}.",
    "step.shared_minutes": "Dividido por {more_machines}: {expression} = {value}.",
    "step.day_before": "A metade está coberta uma duplicação, isto é um dia, antes: {expression} = {value}.",
    "answer.speed": "A velocidade é {value} {length} por {per}.",
    "answer.duration": "O tempo é {value} {duration}.",
    "answer.distance": "A distância é {value} {length}.",
    "answer.meeting": "Encontram-se depois de {value} {duration}.",
    "answer.machines": "Elas levam {value} min.",
    "answer.doubling": "A metade está coberta no dia {value}.",
    "think.stock": "No começo: {n} {thing}.",
    "step.gained": "Alguns a mais: {expression} = {value}.",
    "step.lost": "Alguns a menos: {expression} = {value}.",
    "answer.stock": "Agora são {value} {thing}.",
    "answer.stock_one": "Agora é {value} {thing}.",
    # Roots, primes, comparisons, letters
    "think.root": "Procuro o número cuja potência de {degree} é {number}.",
    "step.root_exact": "{expression} = {value}, que é exatamente ele.",
    "step.root": "Logo, a raiz é {value}.",
    "step.root_below": "{expression} = {value} não passa de {number}.",
    "step.root_above": "{expression} = {value} passa.",
    "step.root_nearest": "Com {places} casas decimais o mais próximo é {value}; os dígitos não terminam.",
    "answer.root": "{root} = {value}",
    "answer.root_about": "{root} ≈ {value} (arredondado a {places} casas; o valor exato não é uma fração)",
    "think.factor": (
        "Divido {number} por 2, 3, 5, 7 e assim por diante, enquanto o quadrado do divisor não for maior."
    ),
    "step.divides": "{expression} = {value}, sem resto.",
    "step.no_divisor": "Nenhum divisor até {root} divide {value}, que assim não tem fator menor.",
    "step.factors": "Todos os fatores: {expression} = {value}.",
    "answer.prime": "Sim, {number} é primo.",
    "answer.prime_itself": "{number} é primo, e assim é seu único fator.",
    "answer.not_prime": "Não, {number} não é primo: {number} = {factors}",
    "answer.factors": "{number} = {factors}",
    "answer.one_not_prime": "1 não é primo e não tem fatores primos.",
    "think.sieve": "Escrevo os números de 2 a {limit} e risco os múltiplos de cada um que sobra.",
    "step.sieve": "Múltiplos de {expression} riscados: {value}.",
    "step.sieved": "Sobraram {value} primos.",
    "answer.primes": "Há {n} primos até {limit}: {primes}",
    "answer.no_primes": "Não há primo até {limit}: o primeiro é o dois.",
    "step.remainder": "O resto: {expression} = {value}.",
    "step.no_remainder": "{expression} = {value}, sem resto.",
    "step.common_divisor": "Logo, o máximo divisor comum é {value}.",
    "step.common_multiple": "O mínimo múltiplo comum: {expression} = {value}.",
    "answer.common_divisor": "O máximo divisor comum de {first} e {second} é {value}",
    "answer.common_multiple": "O mínimo múltiplo comum de {first} e {second} é {value}",
    "think.places": "Com as mesmas casas decimais: {first} e {second}.",
    "step.comparison": "A diferença: {expression} = {value}.",
    "think.first_larger": "É positiva, então o primeiro número é maior.",
    "think.first_smaller": "É negativa, então o primeiro número é menor.",
    "think.equal": "É zero, então são iguais.",
    "answer.larger": "{large} é maior que {small}.",
    "answer.smaller": "{small} é menor que {large}.",
    "answer.equal": "{large} e {small} são iguais.",
    "think.spelled": "{word}, letra por letra: {letters}.",
    "think.letter_at": "A letra {index} é {letter}: com esta são {count}.",
    "think.letters": "Isso era “{word}” inteira: {count}.",
    "think.backwards": "Do fim para o começo: {letters}.",
    "answer.letter": "A letra {letter} está em “{word}” {value} vezes.",
    "answer.letter_once": "A letra {letter} está em “{word}” {value} vez.",
    "answer.length": "“{word}” tem {value} letras.",
    "answer.length_once": "“{word}” tem {value} letra.",
    "answer.reversed": "“{word}” ao contrário é “{value}”.",
    # The clock
    "think.today": "O relógio desta máquina diz que este dia é {day}.",
    "think.relative": "Pelo relógio desta máquina, isso é {day}.",
    "think.no_year": "Não há ano; tomo {year}: {day}.",
    "think.clock": "Olho o relógio desta máquina.",
    "answer.today": "Hoje é {weekday}, {day}.",
    "answer.time": "O relógio desta máquina diz {time}.",
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
    "answer.after": "{n} dias depois de {day}: {weekday}, {result}.",
    "answer.before": "{n} dias antes de {day}: {weekday}, {result}.",
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
    "check.prime": "Pelo teste de Miller-Rabin, {number} é primo.",
    "check.composite": "Pelo teste de Miller-Rabin, {number} não é primo.",
    "check.root": "A potência de {degree} da raiz dada tem de ser {number}, até o último dígito.",
    "check.expected": "Calculado de outro modo, é {expected}.",
    "think.check": "Calculo de novo, de outro modo que uma busca.",
    # Tools
    "think.tool_call": "Deixo a ferramenta “{tool}” conferir isto: {task}",
    "think.tool_agrees": "“{tool}” dá {result}, como eu.",
    "think.tool_result": "“{tool}” diz: {result}",
    "think.stands": "Com isso, minha resposta fica: {answer}",
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
