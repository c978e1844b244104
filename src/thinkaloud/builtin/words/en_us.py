"""Phrases in American English."""

EN_US = {
    # Introduction
    "about": (
        "I am Thinkaloud's built-in solver: a small program that runs on this machine and solves a few kinds "
        "of puzzle by search. I am not a language model, and I did not understand this question.\n\n"
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
        "Studio on this machine."
    ),
    "about.local_servers": (
        "Found on this machine: {servers}. Name one of their models to use it; I never switch by myself."
    ),
    "think.not_understood": (
        "This is not a number puzzle, an island of knights and knaves, a date, a conversion or a sum that I "
        "can read."
    ),
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
    "think.found": "Found: {expression} = {target}. Combinations tried: {tried}.",
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
    "answer.after": "{n} days after {day} is {result}.",
    "answer.before": "{n} days before {day} is {result}.",
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
    "check.expected": "Worked out another way, it is {expected}.",
    "think.check": "I work it out again, another way than a search would.",
    # Tools
    "think.tool_call": "I let the tool “{tool}” check this: {task}",
    "think.tool_agrees": "“{tool}” gives {result}, as I have it.",
    "think.tool_result": "“{tool}” says: {result}",
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
