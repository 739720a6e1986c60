"""`kawal completion`: print the completions for a shell."""

from __future__ import annotations

import argparse

from console.client import add_bootstrap
from console.errors import OK
from console.help import describe

SHELLS = ("bash", "zsh", "fish")
NAMES = ("topics", "groups")
"""What the scripts ask for while the user types."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Print a script that teaches a shell to complete kawal's commands, actions, options and their
        choices.  Names of topics and groups are asked for while you type: of the broker that --bootstrap or
        KAWAL_BOOTSTRAP names, by 'kawal completion topics' and 'kawal completion groups'.""",
        [
            ("completion bash > /etc/bash_completion.d/kawal", "for the bash of every user"),
            ("completion zsh > ~/.zfunc/_kawal", "for a folder in zsh's fpath"),
            ("completion fish > ~/.config/fish/completions/kawal.fish", "for your fish"),
            ("completion topics", "the names of topics, one a line, as the scripts ask for them"),
        ],
    )
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=(*SHELLS, *NAMES),
        help="bash, zsh or fish; or topics or groups, for their names",
    )
    add_bootstrap(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the script, or names.  Raises: CommandError."""
    if arguments.shell in NAMES:
        from console import completion_names  # which the scripts do not need

        names = completion_names.topics if arguments.shell == "topics" else completion_names.groups
        print("".join(f"{name}\n" for name in names(arguments.bootstrap)), end="")
        return OK
    from console import completion  # it imports every command

    print(completion.SHELLS[arguments.shell](), end="")
    return OK
