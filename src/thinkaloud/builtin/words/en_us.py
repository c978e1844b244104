"""Phrases in American English."""

EN_US = {
    # Small talk, and what the solver is
    "read_as": "I read this as “{text}”.",
    "think.greeting": "This is a greeting, with nothing to calculate.",
    "answer.greeting": (
        "Hello! I am Thinkaloud's built-in solver: a small program, not a language model. I solve puzzles "
        "and sums, and show every step. Try one of these:\n{examples}"
    ),
    "think.how_are_you": "This asks how I am. A program has no moods.",
    "answer.how_are_you": (
        "I am a small program, so I have no moods, but everything works. Try one of these:\n{examples}"
    ),
    "think.thanks": "This is thanks or praise, with nothing to calculate.",
    "answer.thanks": "You are welcome! If you like, try one of these next:\n{examples}",
    "think.bye": "This is a farewell.",
    "answer.bye": "Goodbye! When you come back, you could try one of these:\n{examples}",
    "think.who": "This asks what I am.",
    "answer.who": (
        "I am Thinkaloud's built-in solver. I am neither a language model nor an AI: I am a small program "
        "that runs on this machine, without a key and without the network. I recognise a few kinds of "
        "question, solve them by search and exact arithmetic, and what you see as thinking is the true "
        "record of that. Try one of these:\n{examples}"
    ),
    "think.privacy": "This asks where questions go and what they cost.",
    "answer.privacy": (
        "Asking me is free, and what you ask me does not leave this machine. If you connect a real model, "
        "its provider receives your questions and may charge for them; a model server of your own does "
        "neither. Try one of these:\n{examples}"
    ),
    "think.help": "This asks what I can do: I list one example of every kind of question that I read.",
    "answer.help": (
        "I am a small program, not a language model. I read these kinds of question, in English and "
        "Portuguese, and show every step:\n{examples}"
    ),
    "think.test": "This is a test.",
    "answer.test": "It works: I am here, and this is my answer. Try one of these:\n{examples}",
    "think.not_understood": "I compared this with every kind of question that I can read, and none fits.",
    "answer.not_understood": (
        "I cannot answer this: I am a small program, not a language model, and I read only a few kinds of "
        "question. Three things to try:\n{examples}"
    ),
    "think.word_problem": (
        "This has numbers and asks for one, so it looks like a word problem, but no form that I know fits "
        "all of it."
    ),
    "answer.word_problem": (
        "This looks like a word problem, but I cannot read all of it with certainty, so I do not guess. I "
        "am a small program, not a language model. You could write the sum itself, or try one of "
        "these:\n{examples}"
    ),
    # Real models
    "think.connect": (
        "This asks for a real model: I look for servers on this machine and for keys.\n{servers}\n{keys}"
    ),
    "connect.servers": "Servers that answer: {servers}.",
    "connect.no_servers": "No model server answers at the addresses of the catalog.",
    "connect.keys": "Providers with a key: {keys}. I see that it is there, and do not show it.",
    "connect.no_keys": "No provider has a key.",
    "answer.connect": (
        "You can ask a real model right now:\n{found}\n\nOn the page and in the chat, choose it in the list "
        "of models; on the command line, name it with -m. I never switch by myself."
    ),
    "answer.connect_nothing": (
        "I found no key and no model server on this machine. Two ways to get a real model:\n- With a key: "
        "run `thinkaloud keys set anthropic` (or openai, gemini, openrouter, ...), or set a variable such "
        "as ANTHROPIC_API_KEY or OPENAI_API_KEY. Then: `thinkaloud ask -m claude-opus-4.5 Hello`\n- Without "
        "a key: start Ollama, llama.cpp, LM Studio or vLLM on this machine. Then: `thinkaloud ask -m "
        "ollama/MODEL Hello`\n\n`thinkaloud models` lists the models that I know of, and `thinkaloud doctor` "
        "shows what was found."
    ),
    "connect.server": "{provider} runs at {url}: {models}",
    "connect.empty_server": "{provider} runs at {url}, but lists no model yet",
    "connect.key": "{provider} has a key ({source}): {model}",
    # An example of each kind of question
    "example.make": "make 24 from 4 7 8 8",
    "example.reach": "reach 952 from 25 50 75 100 3 6",
    "example.knights": "A says B is a knave. B says we are both knights.",
    "example.days": "how many days between 2026-01-01 and 2026-11-15",
    "example.weekday": "what day of the week is 15 November 2026",
    "example.percent": "what is 15% of 80",
    "example.root": "square root of 2",
    "example.primes": "is 91 prime?",
    "example.compare": "which is bigger, 9.11 or 9.9?",
    "example.letters": "how many r's are in strawberry?",
    "example.rates": "A train travels 180 km in 2 hours. What is its speed?",
    "example.prices": (
        "A bat and a ball cost $1.10. The bat costs $1 more than the ball. How much does the ball cost?"
    ),
    "example.ages": "When I was 6 my sister was half my age. Now I am 70. How old is she?",
    "example.stock": "I have 12 apples and give 5 to Ana. How many are left?",
    "example.units": "convert 5 km to miles",
    "example.arithmetic": "how much is 17 * 3 - 9",
    "example.connect": "how do I connect a real model?",
    # Questions that cannot be solved
    "malformed": "I understood what kind of question this is, but it is not one I can work on.",
    "too_long": "The question is too long: I read at most {limit} characters.",
    "many_numbers": "That is {text} numbers. To reach a target with any of them I take at most {limit}.",
    "many_numbers_all_used": (
        'That is {text} numbers. To make a target with all of them I take at most {limit}; with "reach" '
        'instead of "make" not all need be used, and I take 6.'
    ),
    "large_number": "{text} is too large: I take numbers up to {limit}.",
    "large_target": "{text} is too large: I take targets up to {limit}.",
    "zero": "To reach a target, I work with positive whole numbers only, and there is a 0 in this one.",
    "many_people": "That is too many islanders: I take at most {limit}.",
    "not_two": (
        '"Both of us" needs exactly two islanders, and here I count {text}. Say "all of us", or name them.'
    ),
    "unread": (
        "I could not read this part: “{text}”. I read statements such as “B is a knave”, “we are both "
        "knights”, “at least one of us is a knave”, “B and C are the same”, joined by and, or, not, if … "
        "then."
    ),
    "ambiguous_date": (
        "{text} could be two different days. Write it as 2026-04-03, or with the month's name: 3 April 2026."
    ),
    "no_such_date": "There is no such date: {text}.",
    "out_of_calendar": "That date lies outside the years 1 to 9999, which are all I have.",
    "unknown_unit": (
        "I do not know the unit “{text}”. I know common units of length, mass, volume, temperature, time, "
        "speed and data."
    ),
    "unlike_units": "These do not measure the same thing: {text}.",
    "too_cold": "That is below absolute zero.",
    "long_amount": "The amount is too long: I take at most {limit} characters.",
    "long_sum": "The expression is too long: I take at most {limit} characters.",
    "not_arithmetic": (
        "I cannot read this as arithmetic: a number, a sign or a bracket is missing or left over."
    ),
    "too_deep": "The brackets are too deep: I take at most 30 levels.",
    "too_large": "The result is too large for me: I stop at about 900 digits, and at exponents of 1000.",
    "by_zero": "Nothing can be divided by zero.",
    "root": "I take whole exponents only.",
    "large_factorial": "{text}! is too large: I take factorials up to {limit}!.",
    "large_factored": "{text} is too large: I factor numbers up to {limit}.",
    "zero_factored": "Zero is not prime, and every number divides it.",
    "many_primes": "{text} is too many: I list primes up to {limit}.",
    "root_of_negative": "{text} is negative, and I take only roots of numbers from zero up.",
    "long_word": "The word is too long: I take at most {limit} letters.",
    "mixed_units": (
        "These units do not belong together, and I do not mix them: {text}. Convert one of them first, for "
        "example: convert 10 miles to km."
    ),
    "story_makes_no_sense": (
        "Calculated as it stands, the result would be {text}, and that makes no sense here."
    ),
    # Number puzzles
    "think.all_used": "From {numbers}, each used once, I want {target}. Fractions on the way are fine.",
    "think.any_used": (
        "From {numbers}, each used at most once, I want {target}. On the way: positive whole numbers."
    ),
    "think.leaves": "{left} {sign} {right} = {value} leaves {rest}.",
    "think.reaches": "{left} {sign} {right} = {value}.",
    "think.nothing_reaches": (
        "{left} {sign} {right} = {value} leaves {rest}; nothing more from these reaches {target} ({tried} "
        "tried)."
    ),
    "think.seen": "{left} {sign} {right} = {value} leaves {rest}, which I have tried already.",
    "think.misses": "{left} {sign} {right} = {value} is not {target}.",
    "think.found": "Found after {tried} combinations: {expression} = {target}.",
    "think.exhausted": "That was everything: {tried} combinations, and none gives {target}.",
    "think.stopped": "I stop here, after {tried} combinations.",
    "think.omitted": "… {n} more steps, not told here …",
    # Knights and knaves
    "think.statement": "{person} says: “{text}”.",
    "think.fact": "Given: “{text}”.",
    "knight": "a knight",
    "knave": "a knave",
    "is": "{person} is {kind}",
    "and": " and ",
    "think.assume": "Suppose {person} is {kind}.",
    "think.knight_lying": "Then {person}'s “{text}” would be false, but a knight tells the truth: no.",
    "think.knave_truthful": "Then {person}'s “{text}” would be true, but a knave lies: no.",
    "think.fact_false": "Then the given “{text}” would be false: no.",
    "think.consistent": "Everything fits: {people}.",
    "think.one_fits": "All arrangements of {people} people are tried: exactly {n} fits.",
    "think.several_fit": "All arrangements of {people} people are tried: {n} fit.",
    # Calculations
    "step.operation": "{expression} = {value}.",
    "step.total": "So {expression} = {value}.",
    "step.leap_days": "Leap days before the year of {day}: {expression} = {value}.",
    "step.day_of_year": "Day of the year, for {day}: {expression} = {value}.",
    "step.day_number": "Days since the calendar's start, with {day}: {expression} = {value}.",
    "step.between": "The difference: {expression} = {value}.",
    "step.weekday": (
        "Day 1 was a Monday, and whole weeks change nothing: {expression} = {value} days past Monday."
    ),
    "step.away": "Count on: {expression} = {value}.",
    "step.to_reference": "{amount_unit}, in {reference}: {expression} = {value}.",
    "step.from_reference": "In {target}: {expression} = {value}.",
    # Percentages and word problems
    "step.hundredth": "One percent of {base}: {expression} = {value}.",
    "step.percents": "{percent}% of {base}: {expression} = {value}.",
    "step.more": "Added to {base}: {expression} = {value}.",
    "step.less": "Taken from {base}: {expression} = {value}.",
    "step.share": "As a part of the whole: {expression} = {value}.",
    "step.percentage": "In percent: {expression} = {value}.",
    "step.difference": "The difference: {expression} = {value}.",
    "answer.percent_of": "{percent}% of {base} = {value}",
    "answer.percent_more": "{base} plus {percent}% = {value}",
    "answer.percent_less": "{base} minus {percent}% = {money}",
    "answer.what_percent": "{part} is {value}% of {base}: {part} ÷ {base} × 100 = {value}",
    "answer.percent_change": "From {old} to {new} the change in percent = {value}",
    "step.unit_price": "One costs {expression} = {value}.",
    "step.total_price": "So {wanted} cost {expression} = {value}.",
    "step.amount": "The purchase costs {expression} = {value}.",
    "step.change": "What is left of {paid}: {expression} = {value}.",
    "step.without_difference": "Without the difference both would be equal: {expression} = {value}.",
    "step.with_difference": "With the difference twice both would be equal: {expression} = {value}.",
    "step.half": "Half of that: {expression} = {value}.",
    "answer.price_of_several": "The price of {wanted} {thing_again} is {money}.",
    "answer.amount_due": "The total is {money}.",
    "answer.change_money": "The change is {money}.",
    "answer.price_of_one": "The {second} costs {money}.",
    "answer.price_of_other": "The {first} costs {money}.",
    "step.one_part": "One part: {expression} = {value}.",
    "step.two_parts": "Two parts: {expression} = {value}.",
    "step.half_then": "Half the age, then: {expression} = {value}.",
    "step.age_difference": "The difference never changes: {expression} = {value}.",
    "step.age_later": "Now: {expression} = {value}.",
    "answer.age_of_younger": "{younger} is {value} years old.",
    "answer.age_of_older": "{older} is {value} years old.",
    "answer.age_now": "The {relative} is now {value} years old.",
    "step.speed_value": "Speed is distance by time: {expression} = {value}.",
    "step.duration_value": "Time is distance by speed: {expression} = {value}.",
    "step.distance_value": "Distance is speed times time: {expression} = {value}.",
    "step.closing_speed": "They come closer at {expression} = {value} {rate}.",
    "step.meeting_time": "Time is distance by speed: {expression} = {value}.",
    "step.machine_minutes": "All the work: {expression} = {value} minutes of one machine.",
    "step.minutes_per_item": "For one item: {expression} = {value}.",
    "step.all_minutes": "For {more_items} items: {expression} = {value}.",
    "step.shared_minutes": "Shared by {more_machines}: {expression} = {value}.",
    "step.day_before": (
        "Half of it is covered one doubling, that is one day, earlier: {expression} = {value}."
    ),
    "answer.speed": "The speed is {value} {length} per {per}.",
    "answer.duration": "It takes {value} {duration}.",
    "answer.distance": "The distance is {value} {length}.",
    "answer.meeting": "They meet after {value} {duration}.",
    "answer.machines": "It takes them {value} min.",
    "answer.doubling": "Half is covered on day {value}.",
    "think.stock": "At the beginning: {n} {thing}.",
    "step.gained": "Some more: {expression} = {value}.",
    "step.lost": "Some fewer: {expression} = {value}.",
    "answer.stock": "Now there are {value} {thing}.",
    "answer.stock_one": "Now there is {value} {thing}.",
    # Roots, primes, comparisons, letters
    "think.root": "I look for the number whose power of {degree} is {number}.",
    "step.root_exact": "{expression} = {value}, which is exactly it.",
    "step.root": "So the root is {value}.",
    "step.root_below": "{expression} = {value} is not above {number}.",
    "step.root_above": "{expression} = {value} is above it.",
    "step.root_nearest": "To {places} decimal places the nearest is {value}; the digits never end.",
    "answer.root": "{root} = {value}",
    "answer.root_about": "{root} ≈ {value} (rounded to {places} places; the exact value is no fraction)",
    "think.factor": (
        "I divide {number} by 2, 3, 5, 7 and so on, as long as the square of the divisor is not larger."
    ),
    "step.divides": "{expression} = {value}, without a remainder.",
    "step.no_divisor": "No divisor up to {root} divides {value}, so it has no smaller factor.",
    "step.factors": "All factors: {expression} = {value}.",
    "answer.prime": "Yes, {number} is prime.",
    "answer.prime_itself": "{number} is prime, so it is its only factor.",
    "answer.not_prime": "No, {number} is not prime: {number} = {factors}",
    "answer.factors": "{number} = {factors}",
    "answer.one_not_prime": "1 is not prime and has no prime factors.",
    "think.sieve": "I write the numbers from 2 to {limit} and cross out the multiples of each that is left.",
    "step.sieve": "Multiples of {expression} crossed out: {value}.",
    "step.sieved": "Left over: {value} primes.",
    "answer.primes": "There are {n} primes up to {limit}: {primes}",
    "answer.no_primes": "There is no prime up to {limit}: impossible, since the first one is two.",
    "step.remainder": "The remainder: {expression} = {value}.",
    "step.no_remainder": "{expression} = {value}, without a remainder.",
    "step.common_divisor": "So the greatest common divisor is {value}.",
    "step.common_multiple": "The least common multiple: {expression} = {value}.",
    "answer.common_divisor": "The greatest common divisor of {first} and {second} is {value}",
    "answer.common_multiple": "The least common multiple of {first} and {second} is {value}",
    "think.places": "With as many decimal places each: {first} and {second}.",
    "step.comparison": "The difference: {expression} = {value}.",
    "think.first_larger": "It is positive, so the first number is larger.",
    "think.first_smaller": "It is negative, so the first number is smaller.",
    "think.equal": "It is zero, so they are equal.",
    "answer.larger": "{large} is larger than {small}.",
    "answer.smaller": "{small} is smaller than {large}.",
    "answer.equal": "{large} and {small} are equal.",
    "think.spelled": "{word}, letter by letter: {letters}.",
    "think.letter_at": "Letter {index} is {letter}: that makes {count}.",
    "think.letters": "That was the whole of “{word}”: {count}.",
    "think.backwards": "From the end: {letters}.",
    "answer.letter": "The letter {letter} is in “{word}” {value} times.",
    "answer.letter_once": "The letter {letter} is in “{word}” {value} time.",
    "answer.length": "“{word}” has {value} letters.",
    "answer.length_once": "“{word}” has {value} letter.",
    "answer.reversed": "“{word}” backwards is “{value}”.",
    # The clock
    "think.today": "The clock of this machine says that this is {day}.",
    "think.relative": "By the clock of this machine that is {day}.",
    "think.no_year": "No year is given; I take {year}: {day}.",
    "think.clock": "I look at the clock of this machine.",
    "answer.today": "Today is {weekday}, {day}.",
    "answer.time": "The clock of this machine says {time}.",
    # Answers
    "answer.expression": "{expression} = {target}",
    "answer.impossible": (
        "There is no way to get {target} from {numbers}. I tried every combination: {tried}."
    ),
    "answer.stopped": (
        "I do not know. I stopped after {tried} combinations without finding a way, and there may still be "
        "one."
    ),
    "answer.people": "{people}.",
    "answer.contradiction": "This cannot be: no arrangement of knights and knaves fits what was said.",
    "answer.undecided": "This does not settle it: {n} arrangements fit.",
    "answer.certain": "Certain is only this: {people}.",
    "answer.between": "From {first} to {last} there are {n} days.",
    "answer.between_one_day": "From {first} to {last} there is 1 day.",
    "answer.weekday": "{day} is a {weekday}.",
    "answer.after": "{n} days after {day} is {weekday}, {result}.",
    "answer.before": "{n} days before {day} is {weekday}, {result}.",
    "answer.converted": "{amount_unit} = {value} {target}",
    "answer.converted_about": "{amount_unit} ≈ {value} {target} (rounded)",
    "answer.value": "{expression} = {value}",
    "answer.value_about": "{expression} = {exact} ≈ {value} (rounded)",
    "answer.unverified": (
        "I do not trust my own result, so I do not give it: checked a second way, it failed. {reason}"
    ),
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    # Checks
    "check.task": "Check this answer.\nQuestion: {question}\nAnswer: {answer}",
    "check.right": "Right. {reason}",
    "check.wrong": "Wrong. {reason}",
    "check.unreadable": "I can only check answers to questions that I can read, and this is none.",
    "check.no_expression": "The answer has no expression that I could work out.",
    "check.bad_expression": "“{text}” is not an expression that I can work out.",
    "check.gives": "{expression} gives {value}.",
    "check.wanted": "{expression} gives {value}, and {target} was wanted.",
    "check.other_numbers": "{expression} does not use the given numbers as the puzzle asks.",
    "check.not_whole": "{expression} passes through {value}, which is not a positive whole number.",
    "check.reachable": (
        "It can be done: worked out from all parts of the numbers, {target} is among what they make."
    ),
    "check.unreachable": "Worked out from all parts of the numbers, {target} is not among what they make.",
    "check.arrangements": "Of all arrangements, {n} fit.",
    "check.prime": "By the Miller-Rabin test {number} is prime.",
    "check.composite": "By the Miller-Rabin test {number} is not prime.",
    "check.root": "The power of {degree} of the claimed root must be {number}, to the last digit.",
    "check.expected": "Worked out another way, it is {expected}.",
    "think.check": "I work it out again, another way than a search would.",
    # Tools
    "think.tool_call": "I let the tool “{tool}” check this: {task}",
    "think.tool_agrees": "“{tool}” gives {result}, as I have it.",
    "think.tool_result": "“{tool}” says: {result}",
    "think.stands": "With that my answer stands: {answer}",
    "tool.calculator_agrees": "The calculator agrees.",
    "tool.checker_agrees": "The checker agrees.",
    "tool.calculator_differs": (
        "But the calculator gives {result}, where I have {value}. One of us is wrong; I checked mine twice."
    ),
    "tool.calculator_failed": "The calculator was no help: it came back with “{result}”.",
    "tool.checker_disagrees": "But the checker does not agree: “{result}”",
    "tool.checker_unclear": "What the checker said I cannot read as yes or no: “{result}”",
    "tool.no_result": "The tool “{tool}” never came back with a result.",
}
