"""`thinkaloud completion`: prints scripts that make bash, zsh and fish complete commands and options.

The scripts are made from the parser, so they know every command, option and limited value. Where a value is
free, the shell completes file names.
"""

import argparse
from collections.abc import Iterator

from thinkaloud.cli.console import EXIT_OK
from thinkaloud.cli.parser import CommandNode, build_parser, command_nodes


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `completion`."""
    parser.add_argument(
        "shell",
        choices=tuple(_SCRIPTS),
        metavar="SHELL",
        help="bash: source <(thinkaloud completion bash); zsh: write it to a file named _thinkaloud in a "
        "folder of your fpath; fish: thinkaloud completion fish | source",
    )
    parser.set_defaults(run=run_completion)


def run_completion(options: argparse.Namespace) -> int:
    """Print the script."""
    from thinkaloud.cli import COMMANDS

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
        for pattern, choices in _values(node):
            yield f'        {pattern}) words="{" ".join(choices)}" ;;'
    yield '        *) case "$command" in'
    for node in nodes:
        yield f'            "{_key(node)}") words="{" ".join(_words(node))}" ;;'
    yield "        esac ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _thinkaloud thinkaloud"


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
        for pattern, choices in _values(node):
            yield f"        ({pattern}) items=({' '.join(choices) or ''}) ;;"
    yield '        (*) case "$command" in'
    for node in nodes:
        described = " ".join(_quote(f"{word}:{text}") for word, text in _described_words(node))
        yield f'            ("{_key(node)}") items=({described}) ;;'
    yield "        esac ;;"
    yield "    esac"
    yield "    (( $#items )) && _describe thinkaloud items || _files"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_thinkaloud" ]; then _thinkaloud; else compdef _thinkaloud thinkaloud; fi'


def _fish(nodes: list[CommandNode]) -> Iterator[str]:
    yield "# Completion of thinkaloud for fish: thinkaloud completion fish | source"
    for node in nodes:
        condition = _fish_condition(node)
        for name, summary in node.children.items():
            yield f"complete -c thinkaloud -f -n {condition} -a {name} -d {_quote(summary)}"
        if node.word_choices:
            yield f"complete -c thinkaloud -f -n {condition} -a {_quote(' '.join(node.word_choices))}"
        for option in node.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.option_strings
            )
            value = "" if option.nargs == 0 else " -r"
            if option.choices:
                value = f" -x -a {_quote(' '.join(map(str, option.choices)))}"
            yield f"complete -c thinkaloud -n {condition} {names}{value} -d {_quote(_help(option))}"


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


def _values(node: CommandNode) -> Iterator[tuple[str, list[str]]]:
    """Yield a pattern for each option that takes a value, and the values; none if the value is free."""
    for option in node.options:
        if option.nargs != 0:
            pattern = "|".join(f'"{_key(node)}:{name}"' for name in option.option_strings)
            yield pattern, [str(choice) for choice in option.choices or ()]


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
    return (action.help or "").split(";")[0].split(" (default")[0].replace("%%", "%")


def _quote(text: str) -> str:
    escaped = text.replace("'", "’")
    return f"'{escaped}'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
