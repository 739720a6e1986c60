"""`kawal pipe`: check, preview, run and watch the jobs of the data pipeline on Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import CommandError
from console.help import Actions, describe, int32
from console.help import dispatch as run

if TYPE_CHECKING:
    from pipeline.config import Job

__all__ = ["configure", "run"]

SIZES = {"k": 10**3, "m": 10**6, "g": 10**9}

Handler = Callable[[argparse.Namespace], int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Run data pipeline jobs on Spark: topics of any Kafka broker to tables of Parquet, Delta or
            Iceberg and to other brokers, each record exactly once.  A job is a TOML file; docs/pipeline.md
            explains its keys.  Jobs need pip install 'kawal[spark]'.""",
        [
            ("pipe check land.toml", "is everything there that a run needs?"),
            ("pipe preview land.toml -n 5", "the next records as they would land"),
            ("pipe run land.toml", "land them"),
            ("pipe demo", "see it work: real flights, a crash half way, exact sums"),
        ],
    )
    actions = Actions(parser)
    _configure_run(actions)
    _configure_check(actions)
    _configure_preview(actions)
    _configure_status(actions)
    _configure_audit(actions)
    _configure_compact(actions)
    _configure_replay(actions)
    _configure_reset(actions)
    _configure_move_groups(actions)
    _configure_warm(actions)
    _configure_demo(actions)


def _configure_run(actions: Actions) -> None:
    parser = actions.add(
        "run",
        summary="run a job",
        description="""Run a job to its end, or for ever where its trigger is an interval.  A run that is
            stopped or killed loses nothing: the next one continues where the table ends.  Exit codes: 0
            done, 1 failed, 2 unusable job file, 3 stopped by bad records, 4 running already, 130 and 143
            stopped by a signal before the end.""",
        examples=[
            ("pipe run land.toml", "progress every 5 s, a summary at the end"),
            ("pipe run land.toml --once", "land what is there and end, whatever the trigger"),
            ("pipe run land.toml --log json", "one JSON object a line, for programs"),
            ("pipe run land.toml --master spark://host:7077", "on a cluster"),
        ],
        run=_handled(_run),
    )
    _add_job(parser)
    parser.add_argument("--master", metavar="URL", help="Spark master, instead of the job file's")
    parser.add_argument("--once", action="store_true", help="land what is there and end")
    parser.add_argument("--log", choices=["text", "json"], default="text", help="form of the output")


def _configure_check(actions: Actions) -> None:
    parser = actions.add(
        "check",
        summary="check whether a job can run",
        description="""Check the columns, the table and whether it takes what the job file has changed, Java,
            the connector, the broker and the topics.  What fails is named with its line of the job file.
            Spark is not started and nothing is written.  Exit code 0 when the job can run, 1 when it
            cannot, 2 for an unusable job file.""",
        examples=[
            ("pipe check land.toml", "before the first run"),
            ("pipe check land.toml --bootstrap kafka:9092", "against another broker"),
        ],
        run=_handled(_check),
    )
    _add_job(parser)


def _configure_preview(actions: Actions) -> None:
    parser = actions.add(
        "preview",
        summary="show the next records as they would land",
        description="""Read the next records from where the job stands and print each as it would land, as
            JSON; a bad record has the field _bad with the reason.  Nothing is written.""",
        examples=[
            ("pipe preview land.toml", "ten records"),
            ("pipe preview land.toml -n 1000 | grep _bad", "which are bad, and why"),
        ],
        run=_handled(_preview),
    )
    _add_job(parser)
    parser.add_argument("-n", metavar="N", dest="limit", type=int32, default=10, help="how many (default 10)")


def _configure_status(actions: Actions) -> None:
    parser = actions.add(
        "status",
        summary="show what a job has landed, and its lag",
        description="""Read the job's ledger (rows, batches, next offsets) and ask the broker for the lag.
            Needs no Spark.""",
        examples=[
            ("pipe status land.toml", "for people"),
            ("pipe status land.toml --json", "for programs"),
        ],
        run=_handled(_status),
    )
    _add_job(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _configure_audit(actions: Actions) -> None:
    parser = actions.add(
        "audit",
        summary="compare a table with its topics",
        description="""Read the topics and the table of a job, from where the table begins to where it ends,
            and compare each partition: counts, doubled and missing offsets, and sums of hashes of all
            columns. Nothing is written.  Exit code 0 when they are equal, 5 when they are not.""",
        examples=[
            ("pipe audit land.toml", "a line for each partition"),
            ("pipe audit land.toml --json", "for programs"),
        ],
        run=_handled(_audit),
    )
    _add_job(parser)
    parser.add_argument("--master", metavar="URL", help="Spark master, instead of the job file's")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _configure_compact(actions: Actions) -> None:
    parser = actions.add(
        "compact",
        summary="make few large files of many small ones",
        description="""Write neighbouring small batches of a table of Parquet or Delta anew as one, ordered by
            topic, partition and offset, and put them in place in one step.  The job must not be running.""",
        examples=[
            ("pipe compact land.toml", "into batches of up to 128 MB"),
            ("pipe compact land.toml --target 512m", "into larger ones"),
        ],
        run=_handled(_compact),
    )
    _add_job(parser)
    parser.add_argument("--master", metavar="URL", help="Spark master, instead of the job file's")
    parser.add_argument(
        "--target", metavar="SIZE", type=_size, default="128m", help="size of a batch: 128m (default), 1g"
    )


def _configure_replay(actions: Actions) -> None:
    parser = actions.add(
        "replay",
        summary="land what fits of the quarantine",
        description="""Read the records in a job's quarantine again, by the job file as it is now.  Those that
            fit land, each once; the others stay, with their new reasons.  The job must not be running.""",
        examples=[
            ("pipe replay land.toml", "after a column was added or its type widened"),
            ("pipe replay land.toml --master spark://host:7077", "on a cluster"),
        ],
        run=_handled(_replay),
    )
    _add_job(parser)
    parser.add_argument("--master", metavar="URL", help="Spark master, instead of the job file's")


def _configure_reset(actions: Actions) -> None:
    parser = actions.add(
        "reset",
        summary="go on with a topic that was deleted and made again",
        description="""A topic that is deleted and made again is another topic: its offsets begin anew, and a
            job that has landed the old one refuses it.  This lets the job's table go on with the new one,
            from its first record; the old one's rows stay.  Nothing lands before the next run.""",
        examples=[
            ("pipe reset land.toml --topic flights --from-new", "land the new topic from its first record"),
            ("pipe reset land.toml --topic flights --from-new --bootstrap kafka:9092", "on another broker"),
        ],
        run=_handled(_reset),
    )
    _add_job(parser)
    parser.add_argument("--topic", metavar="TOPIC", required=True, help="the topic that was made again")
    parser.add_argument(
        "--from-new", action="store_true", required=True, help="begin with the new topic's first record"
    )


def _configure_move_groups(actions: Actions) -> None:
    parser = actions.add(
        "move-groups",
        summary="carry the progress of consumer groups over to the target of a copy",
        description="""Look up where consumer groups of the source continue on the target of a job of kind
            replicate or derive, exactly, and commit that there with --apply.  Their consumers on the target
            must be stopped meanwhile.  Exit code 1 when a partition is not copied that far.""",
        examples=[
            ("pipe move-groups copy.toml --group billing", "show where the group would go on"),
            ("pipe move-groups copy.toml --group billing --group audit --apply", "commit it on the target"),
        ],
        run=_handled(_move_groups),
    )
    _add_job(parser)
    parser.add_argument(
        "--group", metavar="GROUP", dest="groups", action="append", required=True, help="a group (repeatable)"
    )
    parser.add_argument("--apply", action="store_true", help="commit on the target")


def _configure_warm(actions: Actions) -> None:
    actions.add(
        "warm",
        summary="make Spark start in half the time",
        description="""Write the classes that Spark loads at every start into an archive in the cache folder:
            half a minute and 165 MB once, then some 5 s less for every preview, run and audit.""",
        examples=[
            ("pipe warm", "once per machine"),
            ("pipe warm && kawal pipe run land.toml", "and use it"),
        ],
        run=_handled(_warm),
    )


def _configure_demo(actions: Actions) -> None:
    parser = actions.add(
        "demo",
        summary="land every flight of 2013, with a crash half way",
        description="""Start a gateway, produce 336,776 flights and 26,115 weather reports, land both with
            Spark, kill the driver half way and resume, compact the Delta table, derive a topic by the query
            of a view, audit both, and compare the tables with the source, number by number.  Needs
            pip install 'kawal[demo]'.  Exit code 0 when all is exact.""",
        examples=[
            ("pipe demo", "a gateway of its own, about three minutes"),
            ("pipe demo --plot demo.png", "and a picture of throughput and lag"),
            ("pipe demo --bootstrap 127.0.0.1:9092", "a broker that is already running"),
        ],
        run=_handled(_demo),
    )
    parser.add_argument(
        "--bootstrap", metavar="HOST:PORT", help="a running broker, instead of one of its own"
    )
    parser.add_argument("--keep", metavar="DIR", type=Path, help="leave the tables in this empty folder")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw throughput and lag as PNG")


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the job file")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="broker, instead of the job file's")


def _handled(handler: Handler) -> Handler:
    """Let a handler end with the sentence and the exit code of what stopped the job."""

    def handle(arguments: argparse.Namespace) -> int:
        from pipeline.errors import PipelineError
        from pipeline.report import JsonReport

        try:
            return handler(arguments)
        except PipelineError as error:
            if getattr(arguments, "log", "text") == "json":
                JsonReport(sys.stdout).error(str(error), error.exit_code)
            failure = CommandError(str(error))
            failure.exit_code = error.exit_code
            raise failure from error

    return handle


def _job(arguments: argparse.Namespace) -> Job:
    from pipeline.job_file import load

    given = {name: getattr(arguments, name, None) for name in ("bootstrap", "master")}
    trigger = "available_now" if getattr(arguments, "once", False) else None
    overrides = {name: value for name, value in {**given, "trigger": trigger}.items() if value}
    return load(arguments.file, **overrides)


def _run(arguments: argparse.Namespace) -> int:
    from pipeline.report import JsonReport, TextReport
    from pipeline.run import run_job

    report = JsonReport(sys.stdout) if arguments.log == "json" else TextReport(sys.stdout, sys.stderr)
    return run_job(_job(arguments), report)


def _check(arguments: argparse.Namespace) -> int:
    from pipeline.check import check_job

    return check_job(_job(arguments), sys.stdout)


def _preview(arguments: argparse.Namespace) -> int:
    from pipeline.session import require_pyspark

    job = _job(arguments)
    require_pyspark()
    from pipeline.preview import preview_job  # needs pyspark

    return preview_job(job, arguments.limit, sys.stdout, sys.stderr)


def _status(arguments: argparse.Namespace) -> int:
    from pipeline.status import print_status

    return print_status(_job(arguments), sys.stdout, as_json=arguments.json)


def _audit(arguments: argparse.Namespace) -> int:
    from pipeline.audit_report import audit_job

    return audit_job(_job(arguments), sys.stdout, as_json=arguments.json)


def _compact(arguments: argparse.Namespace) -> int:
    from pipeline.compact import compact_job

    return compact_job(_job(arguments), arguments.target, sys.stdout)


def _replay(arguments: argparse.Namespace) -> int:
    from pipeline.upkeep import replay_job

    return replay_job(_job(arguments), sys.stdout)


def _size(text: str) -> int:
    """Read a size such as 128m."""
    number, unit = text[:-1], text[-1:].lower()
    if not number.isdigit() or unit not in SIZES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 128m or 1g")
    return int(number) * SIZES[unit]


def _reset(arguments: argparse.Namespace) -> int:
    from pipeline.reset import reset_topic

    return reset_topic(_job(arguments), arguments.topic, sys.stdout)


def _move_groups(arguments: argparse.Namespace) -> int:
    from pipeline.move_groups import move_groups

    return move_groups(_job(arguments), arguments.groups, sys.stdout, apply=arguments.apply)


def _warm(_arguments: argparse.Namespace) -> int:
    import os

    from pipeline.class_archive import make_archive
    from pipeline.jars import find_jars
    from pipeline.session import find_java, require_pyspark

    require_pyspark()
    print(make_archive(find_java(os.environ), find_jars(os.environ), os.environ))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from pipeline.demo.main import run_demo

    return run_demo(bootstrap=arguments.bootstrap, keep=arguments.keep, picture=arguments.plot)
