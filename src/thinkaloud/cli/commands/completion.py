"""`thinkaloud completion`: prints scripts that make bash, zsh and fish complete commands, options and values.

The scripts are made from the parser, so they know every command, option and limited value. Names that change
(models, agents, sessions, settings, providers) are asked for when they are needed, with
`thinkaloud completion --values KIND`. Where a value is free, the shell completes file names.
Written here, because shtab knows no fish.
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from thinkaloud.cli.output.console import EXIT_OK
from thinkaloud.cli.parser import CommandNode, build_parser, command_nodes, help_text
from thinkaloud.core.canon import Refused

_KINDS = {
    "agent": "agents",
    "key": "settings",
    "model": "models",
    "provider": "providers",
    "providers": "providers",
    "session": "sessions",
    "sessions": "sessions",
    "show name": "sessions",
    "thinking": "levels",
}
"""What an option or a word takes, by its name in the parser, perhaps after that of its command."""
_ASKED = "thinkaloud completion --values"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `completion`."""
    parser.add_argument(
        "shell",
        nargs="?",
        choices=tuple(_SCRIPTS),
        metavar="SHELL",
        help="bash: source <(thinkaloud completion bash); zsh: write it to a file named _thinkaloud in a "
        "folder of your fpath; fish: thinkaloud completion fish | source",
    )
    parser.add_argument(
        "--values",
        choices=tuple(_VALUES),
        metavar="KIND",
        help="print what can be completed, one value in each line, as the scripts ask for it: "
        f"{', '.join(_VALUES)}",
    )
    parser.set_defaults(run=run_completion)


def run_completion(options: argparse.Namespace) -> int:
    """Print the script, or the values of one kind with a description after a tab."""
    from thinkaloud.cli import COMMANDS

    if options.values:
        for value, description in _VALUES[options.values]():
            print(f"{value}\t{description}")
        return EXIT_OK
    if not options.shell:
        raise Refused("Name a shell: {scripts}.", scripts=", ".join(_SCRIPTS))

    nodes = list(command_nodes(build_parser(COMMANDS, None, "")))
    print("\n".join(_SCRIPTS[options.shell](nodes)))
    return EXIT_OK


def _bash(nodes: list[CommandNode]) -> Iterator[str]:
    yield "# Completion of thinkaloud for bash: source <(thinkaloud completion bash)"
    yield "_thinkaloud() {"
    yield "    local command='' words='' word"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"'
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do'
    yield f'        case "$command $word" in {_paths(nodes)}) command="$command $word" ;; esac'
    yield "    done"
    yield '    case "$command:$previous" in'
    for node in nodes:
        for pattern, choices, kind in _values(node):
            yield f'        {pattern}) words="{" ".join(choices)}{_bash_values(kind)}" ;;'
    yield '        *) case "$command" in'
    for node in nodes:
        asked = _bash_values(_word_kind(node))
        yield f'            "{_key(node)}") words="{" ".join(_words(node))}{asked}" ;;'
    yield "        esac ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _thinkaloud thinkaloud"


def _bash_values(kind: str) -> str:
    return f" $({_ASKED} {kind} 2> /dev/null | cut -f 1)" if kind else ""


def _zsh(nodes: list[CommandNode]) -> Iterator[str]:
    yield "#compdef thinkaloud"
    yield "# Completion of thinkaloud for zsh: write it to a file named _thinkaloud in a folder of fpath."
    yield "_thinkaloud() {"
    yield "    local command='' word previous=\"${words[CURRENT - 1]}\""
    yield "    local -a items"
    yield '    for word in "${(@)words[2,CURRENT - 1]}"; do'
    yield f'        case "$command $word" in ({_paths(nodes)}) command="$command $word" ;; esac'
    yield "    done"
    yield '    case "$command:$previous" in'
    for node in nodes:
        for pattern, choices, kind in _values(node):
            yield f"        ({pattern}) items=({' '.join(choices)}{_zsh_values(kind)}) ;;"
    yield '        (*) case "$command" in'
    for node in nodes:
        described = " ".join(_quote(f"{word}:{text}") for word, text in _described_words(node))
        yield f'            ("{_key(node)}") items=({described}{_zsh_values(_word_kind(node))}) ;;'
    yield "        esac ;;"
    yield "    esac"
    yield "    (( $#items )) && _describe thinkaloud items || _files"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_thinkaloud" ]; then _thinkaloud; else compdef _thinkaloud thinkaloud; fi'


def _zsh_values(kind: str) -> str:
    """Return what lists the values of a kind. `_describe` wants a colon before a description."""
    lines = '${(f)"$(' + f"{_ASKED} {kind} 2> /dev/null" + ')"}'
    return " ${${" + lines + "//:/\\\\:}//$'\\t'/:}" if kind else ""


def _fish(nodes: list[CommandNode]) -> Iterator[str]:
    yield "# Completion of thinkaloud for fish: thinkaloud completion fish | source"
    for node in nodes:
        condition = _fish_condition(node)
        for name, summary in node.children.items():
            yield f"complete -c thinkaloud -f -n {condition} -a {name} -d {_quote(summary)}"
        if node.word_choices:
            yield f"complete -c thinkaloud -f -n {condition} -a {_quote(' '.join(node.word_choices))}"
        if kind := _word_kind(node):
            yield f"complete -c thinkaloud -f -n {condition} -a {_fish_values(kind)}"
        for option in node.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.option_strings
            )
            value = "" if option.nargs == 0 else " -r"
            if option.choices:
                value = f" -x -a {_quote(' '.join(map(str, option.choices)))}"
            elif kind := _kind(node, option):
                value = f" -x -a {_fish_values(kind)}"
            yield f"complete -c thinkaloud -n {condition} {names}{value} -d {_quote(_help(option))}"


def _fish_values(kind: str) -> str:
    return _quote(f"({_ASKED} {kind} 2> /dev/null)")


def _fish_condition(node: CommandNode) -> str:
    if not node.path:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in node.path)
    if node.children:
        seen += f"; and not __fish_seen_subcommand_from {' '.join(node.children)}"
    return _quote(seen)


def _key(node: CommandNode) -> str:
    """Return a command as the scripts know it: each word with a space before it."""
    return "".join(f" {word}" for word in node.path)


def _paths(nodes: list[CommandNode]) -> str:
    return "|".join(f'"{_key(node)}"' for node in nodes if node.path)


def _values(node: CommandNode) -> Iterator[tuple[str, list[str], str]]:
    """Yield a pattern for each option that takes a value, and the values or their kind, if there is one."""
    for option in node.options:
        if option.nargs != 0:
            pattern = "|".join(f'"{_key(node)}:{name}"' for name in option.option_strings)
            yield pattern, [str(choice) for choice in option.choices or ()], _kind(node, option)


def _kind(node: CommandNode, action: argparse.Action) -> str:
    """Return the kind of names that an option or a word takes; empty if it has choices or takes any text."""
    if action.choices or action.nargs == 0:
        return ""
    return _KINDS.get(f"{' '.join(node.path)} {action.dest}") or _KINDS.get(action.dest, "")


def _word_kind(node: CommandNode) -> str:
    """Return the kind of the first word of a command that takes names."""
    return next(filter(None, (_kind(node, action) for action in node.words)), "")


def _words(node: CommandNode) -> list[str]:
    return [word for word, _ in _described_words(node)]


def _described_words(node: CommandNode) -> Iterator[tuple[str, str]]:
    yield from node.children.items()
    for choice in node.word_choices:
        yield choice, ""
    for option in node.options:
        for name in option.option_strings:
            yield name, _help(option)


def _help(action: argparse.Action) -> str:
    """Return the help text of an option up to its first end of a clause."""
    return help_text(action).split(";")[0].split(" (default")[0]


def _quote(text: str) -> str:
    escaped = text.replace("'", "’")
    return f"'{escaped}'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _models() -> Iterator[tuple[str, str]]:
    from thinkaloud.client.user_catalog import load_catalog
    from thinkaloud.core.catalog import list_models

    for row in list_models(load_catalog(), today=datetime.now(UTC).date().isoformat()):
        if not row.family:
            yield row.id, ", ".join(row.providers)


def _providers() -> Iterator[tuple[str, str]]:
    from thinkaloud.client.user_catalog import load_catalog

    for row in load_catalog().providers.values():
        yield row.name, row.base_url


def _agents() -> Iterator[tuple[str, str]]:
    from thinkaloud.cli.settings import user_agents

    for name, row in user_agents().agents.items():
        yield name, row.description


def _levels() -> Iterator[tuple[str, str]]:
    from thinkaloud.core.canon.requests import ThinkingLevel

    for level in ThinkingLevel:
        yield level, ""


def _settings() -> Iterator[tuple[str, str]]:
    from thinkaloud.client.config import SETTINGS

    for name in SETTINGS:
        yield name, ""


def _sessions() -> Iterator[tuple[str, str]]:
    """List the newest sessions of this machine."""
    import asyncio

    from thinkaloud.cli.commands.sessions import one_line, short_id
    from thinkaloud.cli.gateway_client import open_backend

    async def newest() -> list[tuple[str, str]]:
        async with open_backend() as client:
            rows, _ = await client.sessions()
        return [(short_id(row.id), one_line(row.title)) for row in rows]

    yield from asyncio.run(newest())


_VALUES = {
    "models": _models,
    "agents": _agents,
    "sessions": _sessions,
    "levels": _levels,
    "settings": _settings,
    "providers": _providers,
}
