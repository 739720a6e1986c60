"""Completion scripts for shells, made from the same parsers as the help.

A script knows every command, action, option and choice, and completes file names elsewhere; where the name of
a topic or of a group belongs it asks `kawal completion topics` or `groups`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from console.cli import COMMANDS, command_module, parser_of
from console.reference import actions_of, arguments_of

_MEANINGFUL = str.maketrans("[]", "()", "'\"`$\\")
"""Characters special to a shell, or to zsh in a specification: brackets become round, the rest is dropped."""


class Option(NamedTuple):
    """An option by its spellings; `choices` are the values it may have, `takes_value` whether it has one."""

    spellings: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool
    names: str
    """What its value names: topics, groups or nothing."""


class Node(NamedTuple):
    """A command or an action, and what may follow it."""

    words: tuple[str, ...]
    summary: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]
    """Of its first positional argument."""
    files: bool
    """Whether it takes positional arguments that may be files."""
    names: str
    """What its first positional argument names: topics, groups or nothing."""


def tree() -> list[Node]:
    """Return every command, followed by its actions."""
    nodes = []
    for name, command in COMMANDS.items():
        parser = parser_of(name, command_module(name))
        nodes.append(_node((name,), command.summary, parser))
        for action, subparser in actions_of(parser).items():
            nodes.append(_node((name, action), _summary(subparser), subparser))
    return nodes


def _summary(parser: argparse.ArgumentParser) -> str:
    return (parser.description or "").split(".")[0].replace("\n", " ")


def _node(words: tuple[str, ...], summary: str, parser: argparse.ArgumentParser) -> Node:
    arguments = arguments_of(parser)
    options = [
        Option(
            tuple(argument.option_strings),
            _plain(argument.help or ""),
            _choices(argument),
            argument.nargs != 0,
            _names(argument),
        )
        for argument in arguments
        if argument.option_strings
    ]
    options.append(Option(("-h", "--help"), "show this help", (), False, ""))
    places = [argument for argument in arguments if not argument.option_strings]
    choices = _choices(places[0]) if places else ()
    names = _names(places[0]) if places else ""
    files = bool(places) and not choices and not all(map(_names, places))
    return Node(words, _plain(summary), tuple(options), choices, files, names)


def _names(action: argparse.Action) -> str:
    """Return what an argument names, by the word that stands for it in the help."""
    return {"TOPIC": "topics", "GROUP": "groups"}.get(str(action.metavar), "")


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def _plain(text: str) -> str:
    """Return help without the characters special to a shell."""
    kept = text.replace("%%", "%").replace(":", " -").translate(_MEANINGFUL)
    return " ".join(kept.split())


def _actions(nodes: list[Node], command: str) -> list[Node]:
    return [node for node in nodes if len(node.words) == 2 and node.words[0] == command]


def _next_words(nodes: list[Node], node: Node) -> list[str]:
    """Return the words that may come next, options included."""
    words = [action.words[1] for action in _actions(nodes, node.words[0])] if len(node.words) == 1 else []
    return [*words, *node.choices, *(text for option in node.options for text in option.spellings)]


def bash() -> str:
    """Return the script for bash."""
    nodes = tree()
    commands = " ".join(node.words[0] for node in nodes if len(node.words) == 1)
    lines = [
        "# Completions of kawal for bash: source <(kawal completion bash)",
        "_kawal() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" path=""',
        "  local i; for ((i = 1; i < COMP_CWORD; i++)); do",
        '    [[ ${COMP_WORDS[i]} == -* ]] && break; path+="${path:+ }${COMP_WORDS[i]}"',
        '    [[ $path == *" "* ]] && break',
        "  done",
        '  local words="" files="" names="" broker=()',
        "  for ((i = 1; i < COMP_CWORD - 1; i++)); do",
        "    [[ ${COMP_WORDS[i]} == --bootstrap || ${COMP_WORDS[i]} == --command-config ]] &&",
        '      broker+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}")',
        "  done",
        '  case "$path" in',
        f'    "") words="{commands} --help --version" ;;',
        *(f"    {line}" for line in _bash_cases(nodes)),
        "  esac",
        *(f"  {line}" for line in _bash_values(nodes)),
        "  [[ -n $names && $word != -* ]] &&",
        '    words+=" $(kawal completion "$names" "${broker[@]}" 2>/dev/null)"',
        '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
        '  [[ -n $files && $word != -* ]] && COMPREPLY+=($(compgen -f -- "$word"))',
        "  return 0",
        "}",
        "complete -o filenames -F _kawal kawal",
    ]
    return "\n".join(lines) + "\n"


def _bash_cases(nodes: list[Node]) -> Iterator[str]:
    """Yield the words after each path, an action's before its command's, whose pattern takes all the rest."""
    for node in sorted(nodes, key=lambda node: -len(node.words)):
        path = " ".join(node.words)
        pattern = f'"{path}"' if len(node.words) == 2 else f'"{path}"|"{path} "*'
        files = " files=1" if node.files else ""
        names = f" names={node.names}" if node.names else ""
        yield f'{pattern}) words="{" ".join(_next_words(nodes, node))}"{files}{names} ;;'


def _bash_values(nodes: list[Node]) -> Iterator[str]:
    """Yield the choices, or files, that may follow an option that takes a value."""
    choices: dict[str, set[str]] = {}
    free: set[str] = set()
    named: dict[str, set[str]] = {"topics": set(), "groups": set()}
    for option in (option for node in nodes for option in node.options if option.takes_value):
        for text in option.spellings:
            if option.choices:
                choices.setdefault(text, set()).update(option.choices)
            elif option.names:
                named[option.names].add(text)
            else:
                free.add(text)
    yield 'case "$before" in'
    for text, values in sorted(choices.items()):
        yield f'  {text}) words="{" ".join(sorted(values))}" files="" ;;'
    for kind, texts in named.items():
        # Short spellings mean other things elsewhere.
        long = sorted(text for text in texts if text.startswith("--"))
        yield f'  {"|".join(long)}) words="" files="" names={kind} ;;'
    plain = sorted(free - choices.keys() - named["topics"] - named["groups"])
    yield f'  {"|".join(plain)}) words="" files=1 names="" ;;'
    yield "esac"


def zsh() -> str:
    """Return the script for zsh."""
    nodes = tree()
    commands = " ".join(_zsh_pair(node.words[0], node.summary) for node in nodes if len(node.words) == 1)
    lines = [
        "#compdef kawal",
        '# Completions of kawal for zsh: kawal completion zsh > "${fpath[1]}/_kawal"',
        "_kawal() {",
        "  local -a commands actions options",
        "  if (( CURRENT == 2 )); then",
        f"    commands=({commands})",
        "    _describe command commands; return",
        "  fi",
        '  case "$words[2]" in',
    ]
    for node in (node for node in nodes if len(node.words) == 1):
        lines += [f"    {line}" for line in _zsh_case(nodes, node)]
    lines += [
        "  esac",
        "}",
        'if [[ "$funcstack[1]" == _kawal ]]; then _kawal "$@"; else compdef _kawal kawal; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_case(nodes: list[Node], node: Node) -> Iterator[str]:
    actions = _actions(nodes, node.words[0])
    yield f"{node.words[0]})"
    if actions:
        pairs = " ".join(_zsh_pair(action.words[1], action.summary) for action in actions)
        yield f"  if (( CURRENT == 3 )); then actions=({pairs}); _describe action actions; return; fi"
        yield '  case "$words[3]" in'
        for action in actions:
            yield f"    {action.words[1]}) {_zsh_arguments(action)} ;;"
        yield "  esac"
    else:
        yield f"  {_zsh_arguments(node)}"
    yield "  ;;"


def _zsh_pair(word: str, summary: str) -> str:
    return f"'{word}:{summary}'"


def _zsh_arguments(node: Node) -> str:
    specs = [
        f"'*{text}[{option.help}]{_zsh_value(option)}'"
        for option in node.options
        for text in option.spellings
    ]
    choices = " ".join(node.choices) or (_asked(node.names) if node.names else "")
    specs.append(f"'*: :({choices})'" if choices else "'*: :_files'")
    return f"_arguments {' '.join(specs)}"


def _zsh_value(option: Option) -> str:
    if not option.takes_value:
        return ""
    choices = " ".join(option.choices) or (_asked(option.names) if option.names else "")
    return f":value:({choices})" if choices else ":value:_files"


def _asked(names: str) -> str:
    """Return the words of zsh that ask for names."""
    return f"$(kawal completion {names} 2>/dev/null)"


def fish() -> str:
    """Return the script for fish."""
    nodes = tree()
    lines = ["# Completions of kawal for fish: kawal completion fish | source", "complete -c kawal -f"]
    for node in nodes:
        if len(node.words) == 1:
            condition = "__fish_use_subcommand"
            lines.append(_fish_word(condition, node.words[0], node.summary))
        else:
            others = " ".join(action.words[1] for action in _actions(nodes, node.words[0]))
            condition = (
                f"__fish_seen_subcommand_from {node.words[0]}; and not __fish_seen_subcommand_from {others}"
            )
            lines.append(_fish_word(condition, node.words[1], node.summary))
        lines += _fish_options(node)
    return "\n".join(lines) + "\n"


def _fish_word(condition: str, word: str, summary: str) -> str:
    return f"complete -c kawal -n '{condition}' -a {word} -d '{summary}'"


def _fish_options(node: Node) -> Iterator[str]:
    condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in node.words)
    for option in node.options:
        spellings = " ".join(
            f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}" for text in option.spellings
        )
        choices = " ".join(option.choices) or _fish_names(option.names)
        value = f" -x -a '{choices}'" if choices else " -r -F" if option.takes_value else ""
        yield f"complete -c kawal -n '{condition}' {spellings}{value} -d '{option.help}'"
    if choices := " ".join(node.choices) or _fish_names(node.names):
        yield f"complete -c kawal -n '{condition}' -a '{choices}'"
    if node.files:
        yield f"complete -c kawal -n '{condition}' -F"


def _fish_names(names: str) -> str:
    """Return the words of fish that ask for names, if there is something to ask for."""
    return f"(kawal completion {names} 2>/dev/null)" if names else ""


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
