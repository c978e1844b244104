"""The solver's words in American English."""

EN_US = {
    # Who is speaking
    "about": (
        "I am Thinkaloud's built-in solver: a small program that runs on this machine and solves a few "
        "kinds of "
        "puzzle by search. I am not a language model, and I did not understand this question.\n\n"
        "I can solve, for example:\n"
        "- make 24 from 4 7 8 8\n"
        "- reach 952 from 25 50 75 100 3 6\n"
        "- A says B is a knave. B says we are both knights.\n"
        "- how many days between 2026-01-01 and 2026-11-15\n"
        "- what day of the week is 15 November 2026\n"
        "- convert 5 km to miles\n"
        "- how much is 17 * 3 - 9\n\n"
        "For anything else, connect a real model: set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY, "
        "GEMINI_API_KEY or OPENROUTER_API_KEY and name the model, or run Ollama, llama.cpp, vLLM or LM "
        "Studio "
        "on this machine."
    ),
    "about.found": (
        "Found on this machine: {servers}. Name one of their models to use it; I never switch by myself."
    ),
    "think.not_understood": (
        "This is not a number puzzle, an island of knights and knaves, a date, a conversion or a sum "
        "that I can read."
    ),
    # What is wrong with a question
    "malformed": "I understood what kind of question this is, but it is not one I can work on.",
    "too_long": "The question is too long: I read at most {limit} characters.",
    "many_numbers": "That is {said} numbers. To reach a target with any of them I take at most {limit}.",
    "many_numbers_all_used": (
        "That is {said} numbers. To make a target with all of them I take at most {limit}; "
        'with "reach" instead of "make" not all need be used, and I take 6.'
    ),
    "large_number": "{said} is too large: I take numbers up to {limit}.",
    "large_target": "{said} is too large: I take targets up to {limit}.",
    "zero": "To reach a target, I work with positive whole numbers only, and there is a 0 in this one.",
    "many_people": "That is too many islanders: I take at most {limit}.",
    "not_two": (
        '"Both of us" needs exactly two islanders, and here I count {said}. Say "all of us", or name them.'
    ),
    "unread": (
        "I could not read this part: “{said}”. I read statements such as “B is a knave”, “we are both "
        "knights”, "
        "“at least one of us is a knave”, “B and C are the same”, joined by and, or, not, if … then."
    ),
    "ambiguous_date": (
        "{said} could be two different days. Write it as 2026-04-03, or with the month's name: 3 April 2026."
    ),
    "no_such_date": "There is no such date: {said}.",
    "out_of_calendar": "That date lies outside the years 1 to 9999, which are all I have.",
    "unknown_unit": (
        "I do not know the unit “{said}”. I know common units of length, mass, volume, temperature, time, "
        "speed "
        "and data."
    ),
    "unlike_units": "These do not measure the same thing: {said}.",
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
    # The search
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
    "think.found": "Found: {expression} = {target}. Combinations tried: {tried}.",
    "think.exhausted": "That was everything: {tried} combinations, and none gives {target}.",
    "think.stopped": "I stop here, after {tried} combinations.",
    "think.untold": "… {n} more steps, not told here …",
    # Knights and knaves
    "think.said": "{person} says: “{words}”.",
    "think.fact": "Given: “{words}”.",
    "knight": "a knight",
    "knave": "a knave",
    "is": "{person} is {kind}",
    "and": " and ",
    "think.suppose": "Suppose {person} is {kind}.",
    "think.knight_lies": "Then {person}'s “{words}” would be false, but a knight tells the truth: no.",
    "think.knave_tells": "Then {person}'s “{words}” would be true, but a knave lies: no.",
    "think.fact_fails": "Then the given “{words}” would be false: no.",
    "think.fits": "Everything fits: {people}.",
    # Calculations
    "reckon.step": "{expression} = {value}.",
    "reckon.whole": "So {expression} = {value}.",
    "reckon.leap_days": "Leap days before the year of {day}: {expression} = {value}.",
    "reckon.day_of_year": "Day of the year, for {day}: {expression} = {value}.",
    "reckon.day_number": "Days since the calendar's start, with {day}: {expression} = {value}.",
    "reckon.between": "The difference: {expression} = {value}.",
    "reckon.weekday": (
        "Day 1 was a Monday, and whole weeks change nothing: {expression} = {value} days past Monday."
    ),
    "reckon.away": "Count on: {expression} = {value}.",
    "reckon.to_first": "{amount_unit}, in {first}: {expression} = {value}.",
    "reckon.from_first": "In {target}: {expression} = {value}.",
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
    "answer.unsettled": "This does not settle it: {n} arrangements fit.",
    "answer.certain": "Certain is only this: {people}.",
    "answer.between": "From {first} to {last} there are {n} days.",
    "answer.between_one": "From {first} to {last} there is 1 day.",
    "answer.weekday": "{day} is a {weekday}.",
    "answer.after": "{n} days after {day} is {result}.",
    "answer.before": "{n} days before {day} is {result}.",
    "answer.converted": "{amount} {source} = {value} {target}",
    "answer.converted_about": "{amount} {source} ≈ {value} {target} (rounded)",
    "answer.value": "{expression} = {value}",
    "answer.value_about": "{expression} = {exact} ≈ {value} (rounded)",
    "answer.disagrees": (
        "I do not trust my own result, so I do not give it: checked a second way, it failed. {why}"
    ),
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    # Checks
    "check.task": "Check this answer.\nQuestion: {question}\nAnswer: {answer}",
    "check.right": "Right. {why}",
    "check.wrong": "Wrong. {why}",
    "check.unreadable": "I can only check answers to questions that I can read, and this is none.",
    "check.no_expression": "The answer has no expression that I could work out.",
    "check.bad_expression": "“{said}” is not an expression that I can work out.",
    "check.gives": "{expression} gives {value}.",
    "check.wanted": "{expression} gives {value}, and {target} was wanted.",
    "check.uses_others": "{expression} does not use the given numbers as the puzzle asks.",
    "check.not_whole": "{expression} passes through {value}, which is not a positive whole number.",
    "check.can_be_reached": (
        "It can be done: worked out from all parts of the numbers, {target} is among what they make."
    ),
    "check.cannot_be_reached": (
        "Worked out from all parts of the numbers, {target} is not among what they make."
    ),
    "check.models": "Of all arrangements, {n} fit.",
    "check.expected": "Worked out another way, it is {expected}.",
    "think.check": "I work it out again, another way than a search would.",
    # Tools
    "think.calling": "I let the tool “{tool}” check this: {what}",
    "think.same": "“{tool}” gives {result}, as I have it.",
    "think.result": "“{tool}” says: {result}",
    "tool.agreed": "The calculator agrees.",
    "tool.right": "The checker agrees.",
    "tool.differs": (
        "But the calculator gives {result}, where I have {value}. One of us is wrong; I checked mine twice."
    ),
    "tool.no_number": "The calculator was no help: it came back with “{result}”.",
    "tool.wrong": "But the checker does not agree: “{result}”",
    "tool.unclear": "What the checker said I cannot read as yes or no: “{result}”",
    "tool.silent": "The tool “{tool}” never came back with a result.",
}
