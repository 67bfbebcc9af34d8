"""What the documents show runs: every block of Python, every command; and the paths they name are there."""

from __future__ import annotations

import re
import shlex
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from latebloom import catalog
from latebloom.catalog.base import as_text
from latebloom.cli import main
from latebloom.cli.app import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command in running text: "`latebloom show ID`". Words in capitals stand for something of the reader's.
INLINE = re.compile(r"`(latebloom [^`]+)`")
PRELUDE = "import jax.numpy as jnp\nimport numpy as np\nimport latebloom as lb\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Title and text under every heading of the second level, and of what stands before the first."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    yield "top", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def blocks(language: str) -> list:
    """The blocks of a language, those of one section together, as cases of a test."""
    found = []
    for path in DOCUMENTS:
        for title, text in sections(path.read_text(encoding="utf-8")):
            codes = [code for name, code in FENCE.findall(text) if name == language]
            if codes:
                name = f"{path.stem}: {title}"
                found.append(pytest.param("\n".join(codes), id=name, marks=pytest.mark.xdist_group(name)))
    return found


def commands(text: str) -> list[list[str]]:
    """The commands of a shell block as words, comments gone, continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.fixture
def elsewhere(monkeypatch, tmp_path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATEBLOOM_STORE", str(tmp_path / "store"))
    return tmp_path


@pytest.mark.parametrize("code", blocks("python"))
def test_python_shown_runs(code, elsewhere):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # an unobserved row is named to the reader, too
        exec(compile(PRELUDE + code, "<document>", "exec"), {"__name__": "shown"})


@pytest.mark.parametrize("text", blocks("sh"))
def test_commands_shown_run(text, elsewhere, capsys):
    for words in commands(text):
        if words[0] == "make":
            subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        else:
            assert words[0] == "latebloom", f"the tests do not know how to run {shlex.join(words)}"
            answer = call([known(word, capsys) for word in words[1:]])
            assert answer == 0, (shlex.join(words), capsys.readouterr().err)


def call(words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as stop:
            main(words)
    return int(stop.value.code or 0)


def known(word: str, capsys) -> str:
    """The word, or for ID the run that was made last."""
    if word != "ID":
        return word
    import json

    capsys.readouterr()
    call(["runs", "list", "--json"])
    return json.loads(capsys.readouterr().out)[-1]["id"]


def mentioned() -> list:
    """Commands in running text, which may take minutes: they are read, and their entries and settings looked up."""
    found = {}
    for path in DOCUMENTS:
        for line in INLINE.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
            found[line] = pytest.param(line, id=line)
    return list(found.values())


@pytest.mark.parametrize("line", mentioned())
def test_commands_mentioned_can_be_given(line):
    words = shlex.split(line.replace("…", ""))[1:]
    if any(word.isupper() for word in words):  # `latebloom show ID`
        words = [{"ID": "beyond-l2/fig3", "DIR": "folder", "FILE": "file"}.get(word, word) for word in words]
    group: object = typer.main.get_command(app)
    while words and hasattr(group, "commands"):
        assert words[0] in group.commands, f"there is no command {words[0]}"
        group = group.commands[words.pop(0)]
    if not words:
        return
    context = group.make_context("latebloom", [word.replace("NAME=VALUE", "seed=1") for word in words])
    catalog.select(context.params.get("experiments") or [])


def test_a_broken_block_would_be_seen(elsewhere):
    """The guard itself: a document whose code fails is red."""
    with pytest.raises(AttributeError, match="no_such_thing"):
        test_python_shown_runs("lb.no_such_thing()", elsewhere)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_paths_named_are_there(path):
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]\w*/)+[\w.]*\w)`", FENCE.sub("", text))) | set(
        re.findall(r"\]\(([\w./-]+)\)", text)
    )
    roots = (ROOT, path.parent, ROOT / "src", ROOT / "src" / "latebloom", ROOT / "tests")
    missing = [
        name for name in named if name not in catalog.ENTRIES and not any((root / name).exists() for root in roots)
    ]
    assert not missing


def test_the_picture_of_the_readme_is_that_of_the_demo():
    """It says which settings and runs it shows: those of the entry as it is now (`make images` draws it)."""
    from PIL import Image

    from latebloom.store import run_key

    entry = catalog.get("beyond-l2/fig3")
    told = Image.open(ROOT / "docs" / "images" / "beyond-l2-fig3.png").text
    assert told["Description"] == entry.settings.text
    assert told["Source"].split() == [run_key(job.configuration()) for job in entry.jobs(entry.settings).values()]
    assert as_text(entry.settings.learning_rate) in told["Description"]
