"""Texts with tags and their expected runs, at least one for every profile."""

from tests.tags.text_runs import TextRuns, answer, call, thought

LONGEST_HEADER = 512
HEADER = "<|start|>" + "x" * (LONGEST_HEADER - len("<|start|>"))
BLANKS = " " * (LONGEST_HEADER + 100)

Case = tuple[str, str, TextRuns]

TAGS: list[Case] = [
    ("off", "<think>a</think>b", [answer("<think>a</think>b")]),
    ("off", "", []),
    #
    ("think", "<think>a plan</think>Done.", [thought("a plan"), answer("Done.")]),
    ("think", "<think>a\nb</think>c\nd", [thought("a\nb"), answer("c\nd")]),
    ("think", "\n <think>a</think>\n\nb", [answer("\n "), thought("a"), answer("\n\nb")]),
    ("think", "<think>is a < b? </thin</think>a </thin", [thought("is a < b? </thin"), answer("a </thin")]),
    ("think", "<think>a</think><think>b</think>c", [thought("a"), answer("<think>b</think>c")]),
    ("think", "Use <think> and </think>.", [answer("Use <think> and </think>.")]),
    ("think", "<thinking>a</thinking>b", [answer("<thinking>a</thinking>b")]),
    ("think", "<THINK>a</THINK>b", [answer("<THINK>a</THINK>b")]),
    ("think", "< think>a</think>", [answer("< think>a</think>")]),
    ("think", "No thought at all.", [answer("No thought at all.")]),
    ("think", "<think>💭 é\u200b</think>👩🏽‍🚀", [thought("💭 é\u200b"), answer("👩🏽‍🚀")]),
    #
    ("think_inside", "a</think>b", [thought("a"), answer("b")]),
    ("think_inside", "<think>a</think>b", [thought("a"), answer("b")]),
    ("think_inside", "\n<think>a</think>b", [thought("\na"), answer("b")]),
    ("think_inside", "</think>b", [answer("b")]),
    ("think_inside", "cut of", [thought("cut of")]),
    ("think_inside", "a</think>b</think>c", [thought("a"), answer("b</think>c")]),
    ("think_inside", "a<think>b</think>c</think>d", [thought("a<think>b</think>c"), answer("d")]),
    #
    ("think_either", "a</think>b", [thought("a"), answer("b")]),
    ("think_either", "<think>a</think>b</think>c", [thought("a"), answer("b</think>c")]),
    ("think_either", "a</think>b</think>c", [thought("a"), answer("b</think>c")]),
    ("think_either", "</think>b", [answer("b")]),
    ("think_either", "plain", [answer("plain")]),
    ("think_either", "a <think>b</think> c", [answer("a <think>b</think> c")]),
    ("think_either", "a <think>b</think> c</think>d", [thought("a <think>b</think> c"), answer("d")]),
    ("think_either", "a</think>b<think>c</think>d", [thought("a"), answer("b<think>c</think>d")]),
    #
    (
        "think_anywhere",
        "a<think>b</think>c<think>d</think>",
        [answer("a"), thought("b"), answer("c"), thought("d")],
    ),
    ("think_anywhere", "a</think>b", [answer("a</think>b")]),
    (
        "think_anywhere",
        "<think>a<think>b</think></think>c<think>d",
        [thought("a<think>b</think>"), answer("c"), thought("d")],
    ),
    #
    ("prompted", "<think>a</think>b", [thought("a"), answer("b")]),
    ("prompted", "<thinking>a</thinking>b", [thought("a"), answer("b")]),
    ("prompted", "So: <thought>a</thought>b", [answer("So: "), thought("a"), answer("b")]),
    ("prompted", "<reasoning>a</reasoning><reflection>b</reflection>c", [thought("ab"), answer("c")]),
    ("prompted", "<thought>a <think>b</think></thought>c", [thought("a <think>b</think>"), answer("c")]),
    ("prompted", "<thinking>a</think>b</thinking>c", [thought("a</think>b"), answer("c")]),
    #
    ("thought", "<thought>a</thought>b", [thought("a"), answer("b")]),
    ("thought", "<think>a</think>b", [answer("<think>a</think>b")]),
    ("thought_inside", "a</thought>b", [thought("a"), answer("b")]),
    ("thought_either", "a</thought>b", [thought("a"), answer("b")]),
    #
    (
        "think_or_call",
        "<think>a\n<tool_call>b</tool_call>",
        [thought("a\n"), answer("<tool_call>b</tool_call>")],
    ),
    ("think_or_call", "<think><tool_call>a<tool_call>b", [answer("<tool_call>a<tool_call>b")]),
    (
        "think_or_call",
        "<think>say <tool_call> first</think>b",
        [thought("say <tool_call> first"), answer("b")],
    ),
    (
        "think_or_call",
        "<think>a<tool_call>b</think>c</think>",
        [thought("a<tool_call>b"), answer("c</think>")],
    ),
    (
        "think_or_call",
        "<think>a<think>b</think>c<tool_call>d",
        [thought("a<think>b</think>c"), answer("<tool_call>d")],
    ),
    ("think_or_call", "<think>a</think><tool_call>b", [thought("a"), answer("<tool_call>b")]),
    ("think_or_call_inside", "a<tool_call>b", [thought("a"), answer("<tool_call>b")]),
    ("think_or_call_inside", "a</think>b", [thought("a"), answer("b")]),
    ("think_or_call_either", "a</think>b<tool_call>c", [thought("a"), answer("b<tool_call>c")]),
    ("think_or_call_either", "<think>a<tool_call>b", [thought("a"), answer("<tool_call>b")]),
    #
    ("deepseek", "<think>a<｜DSML｜tool_calls>b", [thought("a"), answer("<｜DSML｜tool_calls>b")]),
    ("deepseek", "<think>see <｜DSML｜x></think>b", [thought("see <｜DSML｜x>"), answer("b")]),
    ("deepseek_inside", "a<｜DSML｜b", [thought("a"), answer("<｜DSML｜b")]),
    ("deepseek_inside", "<think>a</think>b", [thought("a"), answer("b")]),
    ("deepseek_inside", "a<｜tool▁calls▁begin｜>b", [thought("a"), answer("<｜tool▁calls▁begin｜>b")]),
    ("deepseek_either", "a</think>b", [thought("a"), answer("b")]),
    #
    ("ernie", "a</think>\n<response>\nb\n</response>\n", [thought("a"), answer("\n\nb\n\n")]),
    ("ernie_either", "a</think>\n<response>b</response>", [thought("a"), answer("\nb")]),
    ("ernie_either", "a", [answer("a")]),
    #
    ("hunyuan_either", "a</think><answer>b</answer>", [thought("a"), answer("b")]),
    ("hunyuan", "<think>\na\n</think>\n<answer>\nb\n</answer>", [thought("\na\n"), answer("\n\nb\n")]),
    ("hunyuan_suffix", "<think:opensource>a</think:opensource>b", [thought("a"), answer("b")]),
    ("hunyuan_suffix", "<think>a</think>b", [thought("a"), answer("b")]),
    ("hunyuan_suffix", f"<think:{'x' * 24}>a</think:y>b", [thought("a"), answer("b")]),
    ("hunyuan_suffix", f"<think:{'x' * 25}>a", [answer(f"<think:{'x' * 25}>a")]),
    ("hunyuan_suffix", "<think:>a", [answer("<think:>a")]),
    ("hunyuan_suffix", "<think:x y>a", [answer("<think:x y>a")]),
    ("hunyuan_suffix", "<think:a>b</think>c</think:", [thought("b</think>c</think:")]),
    #
    ("minimax_m2", "<think>a<minimax:tool_call>b", [thought("a"), answer("<minimax:tool_call>b")]),
    ("minimax_m2_inside", "a</think>b", [thought("a"), answer("b")]),
    ("minimax_m2_either", "a</think>b", [thought("a"), answer("b")]),
    ("minimax_m3", "<mm:think>a</mm:think>b", [thought("a"), answer("b")]),
    ("minimax_m3", "a</mm:think>b", [answer("a</mm:think>b")]),
    ("minimax_m3_either", "a</mm:think>b", [thought("a"), answer("b")]),
    ("minimax_m3_either", "</mm:think>b", [answer("b")]),
    ("minimax_m3_inside", "a</mm:think>b", [thought("a"), answer("b")]),
    #
    ("seed", "<seed:think>a</seed:think>b", [thought("a"), answer("b")]),
    ("seed", "<seed:think>a<seed:tool_call>b", [thought("a"), answer("<seed:tool_call>b")]),
    #
    ("longcat", "<longcat_think>a</longcat_think>b", [thought("a"), answer("b")]),
    ("longcat", "a<longcat_tool_call>b", [answer("a<longcat_tool_call>b")]),
    ("longcat_inside", "a<longcat_tool_call>b", [thought("a"), answer("<longcat_tool_call>b")]),
    #
    ("k2_think", "<think_fast>a</think_fast><answer>b</answer>", [thought("a"), answer("b")]),
    ("k2_think_inside", "a</think_faster>b", [thought("a"), answer("b")]),
    ("k2_think_either", "a</think>b", [thought("a"), answer("b")]),
    #
    ("reka", "<reasoning>a</reasoning>b", [thought("a"), answer("b")]),
    ("marco", "<Thought>a</Thought><Output>b</Output>", [thought("a"), answer("b")]),
    ("pangu", "[unused16]a[unused17]b[unused10]", [thought("a"), answer("b")]),
    #
    ("k2_horizon", "<ifm|think>a</ifm|think>b", [thought("a"), answer("b")]),
    ("k2_horizon", "<ifm|think_fast>a</ifm|think_fast>b", [thought("a"), answer("b")]),
    (
        "k2_horizon",
        "<ifm|think_faster>a</ifm|think>b</ifm|think_faster>c",
        [thought("a</ifm|think>b"), answer("c")],
    ),
    ("k2_horizon", "<ifm|think>a<ifm|tool_calls>b", [thought("a"), answer("<ifm|tool_calls>b")]),
    ("k2_horizon_inside", "a</ifm|think_fast>b", [thought("a"), answer("b")]),
    #
    ("mistral", "[THINK]a[/THINK]b", [thought("a"), answer("b")]),
    ("mistral", "<think>a</think>b", [thought("a"), answer("b")]),
    ("mistral", "[THINK]a [TOOL_CALLS]f[ARGS]{}[/THINK]b", [thought("a [TOOL_CALLS]f[ARGS]{}"), answer("b")]),
    ("mistral", "[THINK]a</think>b[/THIN", [thought("a</think>b[/THIN")]),
    #
    ("kimi_vl", "◁think▷a◁/think▷b", [thought("a"), answer("b")]),
    (
        "kimi_k2",
        "<think>a</think>b<think>c</think>d",
        [thought("a"), answer("b"), thought("c"), answer("d")],
    ),
    ("kimi_k2", "a</think>b", [answer("a</think>b")]),
    (
        "kimi_k2_inside",
        "a<|tool_calls_section_begin|>b",
        [thought("a"), answer("<|tool_calls_section_begin|>b")],
    ),
    ("kimi_k2_either", "a</think>b<think>c</think>d", [thought("a"), answer("b"), thought("c"), answer("d")]),
    ("kimi_k3", "<|open|>think<|sep|>a<|close|>think<|sep|>b", [thought("a"), answer("b")]),
    ("kimi_k3", "<|open|>response<|sep|>a<|close|>response<|sep|>", [answer("a")]),
    ("kimi_k3", "<|open|>thinking<|sep|>a", [answer("<|open|>thinking<|sep|>a")]),
    (
        "kimi_k3_inside",
        "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|>",
        [thought("a"), answer("b")],
    ),
    ("kimi_k3_inside", "a<|open|>response<|sep|>b", [thought("a"), answer("b")]),
    #
    ("solar", "<|think|>a<|end|><|begin|>assistant<|content|>b<|end|>", [thought("a"), answer("b")]),
    ("solar", "<|content|>a<|end|>", [answer("a")]),
    ("solar_open2", "a<|think:end|>b", [thought("a"), answer("b")]),
    ("solar_open2", "<|think:start|>a<|think:end|>b", [thought("a"), answer("b")]),
    ("solar_open2", "a", [answer("a")]),
    (
        "solar_open2",
        "<|think:start|>a<|tool_call:start|>b",
        [thought("a"), answer("<|tool_call:start|>b")],
    ),
    #
    ("apriel", "a[BEGIN FINAL RESPONSE]b[END FINAL RESPONSE]", [thought("a"), answer("b")]),
    ("apriel", "a", [answer("a")]),
    (
        "apriel_inside",
        "Here are my reasoning steps:\na[BEGIN FINAL RESPONSE]b",
        [thought("\na"), answer("b")],
    ),
    #
    ("gemma", "<|channel>thought\na<channel|>b", [thought("a"), answer("b")]),
    ("gemma", "<|channel>thoughts<channel|>b", [thought("thoughts"), answer("b")]),
    ("gemma", "<|channel>thought\n<channel|>b", [answer("b")]),
    ("gemma", "a<|channel>b<channel|>c", [answer("a"), thought("b"), answer("c")]),
    ("gemma", "a<channel|>b<channel|>", [thought("a"), answer("b")]),
    ("gemma", "<channel|>a", [answer("a")]),
    ("gemma", "<|channel>though", [thought("though")]),
    ("gemma", "<|channel>", []),
    ("gemma", "a <|chann", [answer("a <|chann")]),
    #
    (
        "cohere",
        "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>",
        [thought("a"), answer("b")],
    ),
    ("cohere_inside", "a<|END_THINKING|><|START_TEXT|>b<|END_TEXT|>", [thought("a"), answer("b")]),
    #
    (
        "inkling",
        "<|message_model|><|content_thinking|>a<|end_message|>"
        "<|message_model|><|content_text|>b<|end_message|><|content_model_end_sampling|>",
        [thought("a"), answer("b")],
    ),
    ("inkling", "<|content_thinking|>a<|content_text|>b", [thought("a"), answer("b")]),
    #
    ("apertus", "a<|inner_prefix|>b<|inner_suffix|>c", [answer("a"), thought("b"), answer("c")]),
    ("plamo", "<|plamo:begin_think:plamo|>a<|plamo:end_think:plamo|>b", [thought("a"), answer("b")]),
    #
    ("granite", "Here is my thought process: a Here is my response: b", [thought(" a "), answer(" b")]),
    ("granite", "Here is my thought of the day", [answer("Here is my thought of the day")]),
    ("granite", "Here is my thought process: Here was", [thought(" Here was")]),
    ("granite", "<think>a</think>b", [thought("a"), answer("b")]),
    ("granite", "<think>a</think><response>b</response>", [thought("a"), answer("b")]),
    ("granite", "Here's my thought process: a Here's my response: b", [thought(" a "), answer(" b")]),
    #
    ("nemotron_nonempty", "<think>a</think>b", [thought("a"), answer("b")]),
    ("nemotron_nonempty", "<think>a</think>", [answer("a")]),
    ("nemotron_nonempty", "<think>a</think>\n", [answer("a\n")]),
    ("nemotron_nonempty", "\n<think>a", [answer("\na")]),
    ("nemotron_nonempty", "a", [answer("a")]),
    ("nemotron_nonempty", "", []),
]

CHANNELS: list[Case] = [
    ("harmony", "<|channel|>analysis<|message|>a<|end|>", [thought("a")]),
    ("harmony", "<|channel|>analysis<|message|>cut of", [thought("cut of")]),
    ("harmony", "<|channel|>final<|message|>a<|return|>", [answer("a")]),
    (
        "harmony",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
        [thought("a"), answer("b")],
    ),
    ("harmony", "<|start|>assistant<|channel|> analysis <|message|>a", [thought("a")]),
    ("harmony", "<|message|>a", [answer("a")]),
    ("harmony", "<|channel|>commentary<|message|>I will look.<|end|>", [answer("I will look.")]),
    (
        "harmony",
        " to=functions.add<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
        [call("add", "{}")],
    ),
    (
        "harmony",
        "<|channel|>analysis<|message|>a<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{1}<|call|>"
        "<|start|>assistant to=functions.add<|channel|>commentary<|message|>{2}<|call|>",
        [thought("a"), call("add", "{1}"), call("add", "{2}")],
    ),
    ("harmony", "to=browser.search<|message|>", [call("browser.search", "")]),
    # channels without an end marker in between
    (
        "harmony",
        "a<|channel|>analysis<|message|>b<|channel|>final<|message|>c",
        [answer("a"), thought("b"), answer("c")],
    ),
    # Muse
    ("harmony", "to=self<|message|>a<|eom|>to=user<|message|>b<|eom|>", [thought("a"), answer("b")]),
    ("harmony", "to=all<|message|>a<|eom|>", [answer("a")]),
    # no header, because a server removed it, or text that only looks like one
    ("harmony", "Plain words.", [answer("Plain words.")]),
    ("harmony", "", []),
    ("harmony", " total", [answer(" total")]),
    ("harmony", "to", [answer("to")]),
    ("harmony", "a < b <| c <|end", [answer("a < b <| c <|end")]),
    ("harmony", "<|start|>assistant", [answer("<|start|>assistant")]),
    ("harmony", "to=be or not to be", [answer("to=be or not to be")]),
    ("harmony", "a<|end|> \n", [answer("a \n")]),
    ("harmony", "a<|end|>  b", [answer("a  b")]),
    ("harmony", "a<|end|>\n<|start|>assistant<|channel|>final<|message|>b", [answer("ab")]),
    # longer than the longest header, and more white space than fits between two messages
    ("harmony", f"{HEADER}<|message|>a<|end|>", [answer("a")]),
    ("harmony", f"{HEADER}x<|message|>a<|end|>b", [answer(f"{HEADER}x<|message|>ab")]),
    ("harmony", f"{HEADER}xx<|end|>a", [answer(f"{HEADER}xxa")]),
    ("harmony", f"a<|end|>{BLANKS}<|channel|>analysis<|message|>b", [answer(f"a{BLANKS}"), thought("b")]),
    ("harmony", f"a<|end|>{BLANKS}to=self<|message|>b", [answer(f"a{BLANKS}to=self<|message|>b")]),
]

CASES = [*TAGS, *CHANNELS]
