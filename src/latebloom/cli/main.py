"""The entry point: errors become one line and an exit code here, and nowhere else."""

from __future__ import annotations

import sys
import traceback
import warnings

import typer
from typer.exceptions import TyperException

from latebloom.cli import bench, catalog, doctor, reproduce, run, runs
from latebloom.errors import LatebloomError

app = typer.Typer(
    name="latebloom",
    help="A laboratory for delayed generalisation: simulate it, predict it, check it, draw it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.command("list")(catalog.list_experiments)
app.command("show")(catalog.show)
app.command("reproduce")(reproduce.reproduce)
app.command("verify")(reproduce.verify)
app.command("run")(run.run)
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
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"] or ["--help"]
    warnings.showwarning = _show_warning
    try:
        code = app(words, standalone_mode=False)
    except (LatebloomError, TyperException) as error:
        if debug:
            traceback.print_exc()
        message = error.format_message() if isinstance(error, TyperException) else str(error)
        print(f"latebloom: {message}", file=sys.stderr)
        raise SystemExit(130 if getattr(error, "interrupted", False) else 2) from None
    except (KeyboardInterrupt, typer.Abort):
        print("latebloom: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of a pipe has left, as `head` does
        sys.stderr.close()
        raise SystemExit(0) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"latebloom: warning: {message}", file=sys.stderr)
