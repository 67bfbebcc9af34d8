"""The entry point: errors become one line and an exit code here, and nowhere else."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings

import typer
from typer.exceptions import TyperException

from latebloom.cli import bench, catalog, doctor, fit, lookup, reproduce, run, runs, sweep
from latebloom.cli.common import print_json
from latebloom.core.interrupts import raising
from latebloom.errors import LatebloomError

app = typer.Typer(
    name="latebloom",
    help="A laboratory for delayed generalisation: simulate it, predict it, check it, draw it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(catalog.list_experiments)
app.command("show")(catalog.show)
app.command("reproduce")(reproduce.reproduce)
app.command("verify")(reproduce.verify)
app.command("coverage")(catalog.coverage)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("fit")(fit.fit)
for room in lookup.ROOMS:
    app.command(room)(lookup.command(room))
app.add_typer(runs.app, name="runs")
app.command("bench")(bench.bench)
app.command("doctor")(doctor.doctor)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """A laboratory for delayed generalisation: simulate it, predict it, check it, draw it."""
    if version:
        from latebloom import __version__

        print(f"latebloom {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line: exit code 2 and one line for a bad request, 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _mend_streams()
    shown, warnings.showwarning = warnings.showwarning, _show_warning
    try:
        with raising():
            code = _run([word for word in words if word != "--debug"] or ["--help"], debug="--debug" in words)
    finally:
        warnings.showwarning = shown
    raise SystemExit(code)


def _run(words: list[str], *, debug: bool) -> int:
    try:
        code = app(words, standalone_mode=False, prog_name="latebloom")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has left, as `head` does
        _drop_output()
        return 0
    except (LatebloomError, TyperException, OSError, MemoryError) as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `latebloom runs` alone
            print(_sentence(error))
            return 0
        if debug:
            traceback.print_exc()
        print(f"latebloom: {_sentence(error)}", file=sys.stderr)
        if "--json" in words:
            _print_error(_sentence(error))
        _drop_output()
        return 130 if getattr(error, "interrupted", False) else 2
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    if code == 130:  # also what typer makes of Ctrl-C
        print("latebloom: interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _print_error(sentence: str) -> None:
    """The one JSON document that was asked for."""
    with contextlib.suppress(OSError):  # the output may be what went wrong
        print_json({"error": sentence})
        sys.stdout.flush()


def _drop_output() -> None:
    """What is still in the buffer goes nowhere: written at exit, it would fail once more."""
    with contextlib.suppress(OSError, ValueError):  # no file behind it, or closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: BaseException) -> str:
    if isinstance(error, TyperException):
        return error.format_message()
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}): choose smaller sizes"
    return str(error)


def _mend_streams() -> None:
    """A closed stream swallows what is written; letters that the terminal lacks are written as their codes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"latebloom: warning: {message}", file=sys.stderr)
