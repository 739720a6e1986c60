"""`kawal completion`: print the completions for a shell."""

from __future__ import annotations

import argparse

from console.errors import OK
from console.help import describe

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Print a script that teaches a shell to complete kawal's commands, actions, options and their
        choices.  It does not run kawal while you type.""",
        [
            ("completion bash > /etc/bash_completion.d/kawal", "for the bash of every user"),
            ("completion zsh > ~/.zfunc/_kawal", "for a folder in zsh's fpath"),
            ("completion fish > ~/.config/fish/completions/kawal.fish", "for your fish"),
        ],
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from console import completion  # it imports every command

    print(completion.SHELLS[arguments.shell](), end="")
    return OK
