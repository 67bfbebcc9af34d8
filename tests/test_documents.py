"""What the documents show runs: every block of Python, every command, in order; and what they name is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import warnings
from pathlib import Path

import pytest
import typer

from latebloom import catalog
from latebloom.catalog.base import as_text
from latebloom.cli import main
from latebloom.cli.app import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [path for path in DOCUMENTS if path.parent.name == "how-to"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command in running text: "`latebloom show ID`". Words in capitals stand for something of the reader's.
INLINE = re.compile(r"`(latebloom [^`]+)`")
WIDTH = 120


def blocks(path: Path) -> list[tuple[str, str]]:
    """Language and text of every block of a document."""
    return FENCE.findall(path.read_text(encoding="utf-8"))


def shown() -> list:
    """The documents with something to run, as cases: those with commands on one worker, where they share a store."""
    found = []
    for path in DOCUMENTS:
        languages = {language for language, _ in blocks(path)} & {"python", "sh"}
        group = "documents: commands" if "sh" in languages else f"documents: {path.stem}"
        if languages:
            found.append(pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group(group)))
    return found


def commands(text: str) -> list[list[str]]:
    """The commands of a shell block as words, comments gone, continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.fixture(scope="module")
def one_store(tmp_path_factory) -> Path:
    """The reader's store: what one page has computed the next one finds."""
    return tmp_path_factory.mktemp("reader") / "store"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path, one_store) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATEBLOOM_STORE", str(one_store))
    return tmp_path


@pytest.mark.parametrize("path", shown())
def test_a_document_runs_from_top_to_bottom(path, elsewhere, capsys):
    names: dict[str, object] = {"__name__": "shown"}  # nothing is imported that the page does not import
    last = ""
    for language, text in blocks(path):
        if language == "python":
            run_python(text, names)
        elif language == "sh":
            for words in commands(text):
                last = run_command(words, last, capsys)


def run_python(code: str, names: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # an unobserved row is named to the reader, too
        exec(compile(code, "<document>", "exec"), names)


def run_command(words: list[str], last: str, capsys) -> str:
    """Gives the command, with the id that the last `latebloom run` printed for ID; returns the last id."""
    if words[0] == "make":
        subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        return last
    assert words[0] == "latebloom", f"the tests do not know how to run {shlex.join(words)}"
    capsys.readouterr()
    answer = call([last if word == "ID" else word for word in words[1:]])
    said = capsys.readouterr()
    assert answer == 0, (shlex.join(words), said.err)
    return said.out.split()[0] if words[1] == "run" else last


def call(words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as stop:
            main(words)
    return int(stop.value.code or 0)


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
    if words[0].startswith("-"):  # `latebloom --version`
        assert any(words[0] in option.opts for option in group.params)
        return
    while words and hasattr(group, "commands"):
        assert words[0] in group.commands, f"there is no command {words[0]}"
        group = group.commands[words.pop(0)]
    if not words:
        return
    context = group.make_context("latebloom", [word.replace("NAME=VALUE", "seed=1") for word in words])
    catalog.select(context.params.get("experiments") or [])


def test_a_broken_block_would_be_seen(elsewhere, capsys, tmp_path):
    """The guard itself: a document whose code fails is red, and so is one whose command does."""
    page = tmp_path / "page.md"
    page.write_text("```python\nimport latebloom as lb\n```\n```python\nlb.no_such_thing()\n```\n")
    with pytest.raises(AttributeError, match="no_such_thing"):
        test_a_document_runs_from_top_to_bottom(page, elsewhere, capsys)
    page.write_text("```sh\nlatebloom show beyond-l2/fig99\n```\n")
    with pytest.raises(AssertionError, match="fig99"):
        test_a_document_runs_from_top_to_bottom(page, elsewhere, capsys)


def test_no_block_stands_twice():
    seen: dict[str, Path] = {}
    for path in DOCUMENTS:
        for _, text in blocks(path):
            bare = re.sub(r"\s*#.*$", "", text, flags=re.MULTILINE).strip()
            assert bare not in seen, f"{path.name} and {seen[bare].name} show the same block"
            seen[bare] = path


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_begins_with_what_it_is_for_and_a_block(path):
    title, blank, rest = path.read_text(encoding="utf-8").split("\n", 2)
    head = rest.split("```", 1)[0]
    assert title.startswith("# ")
    assert not blank
    assert head.startswith("You ")
    assert len(head.splitlines()) <= 3


def test_the_guide_names_every_page():
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert {f"how-to/{path.name}" for path in PAGES} == set(re.findall(r"\((how-to/[\w-]+\.md)\)", guide))


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_lines_are_as_long_as_those_of_the_code(path):
    """Rows of tables apart, which cannot be broken."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if len(line) > WIDTH and not line.startswith("|")]


def test_the_picture_of_the_readme_is_that_of_the_demo():
    """It says which settings and runs it shows: those of the entry as it is now (`make images` draws it)."""
    from PIL import Image

    from latebloom.store import run_key

    entry = catalog.get("beyond-l2/fig3")
    told = Image.open(ROOT / "docs" / "images" / "beyond-l2-fig3.png").text
    assert told["Description"] == entry.settings.text
    assert told["Source"].split() == [run_key(job.configuration()) for job in entry.jobs(entry.settings).values()]
    assert as_text(entry.settings.learning_rate) in told["Description"]
