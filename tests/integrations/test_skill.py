"""The skill for coding agents: its commands exist, and its tasks run as they are written."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from typer import Context
from typer.main import get_command

from rankwise.cli.main import app
from tests.integrations.commands import call

ROOT = Path(__file__).parents[2]
SKILL = files("rankwise") / ".agents/skills/rankwise/SKILL.md"
TEXT = SKILL.read_text("utf-8")
TASKS = dict(re.findall(r"^### ([^\n]+)\n\n```console\n(.+?)```", TEXT, re.MULTILINE | re.DOTALL))


def test_the_front_matter_names_the_folder():
    _, head, _ = TEXT.split("---\n", 2)
    found = yaml.safe_load(head)
    assert set(found) == {"name", "description"}
    assert found["name"] == "rankwise"
    assert len(found["description"]) <= 1024  # the most that agents read


def test_there_are_five_tasks_of_three_commands():
    assert [len(task.splitlines()) for task in TASKS.values()] == [3] * 5


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.split()[0].lower() + str(len(task)))
def test_tasks_run_as_written(task, folder):
    for line in TASKS[task].splitlines():
        done = call(line)
        assert done.exit_code == 0, (line, done.stderr)
        assert done.stdout.strip() or "--out" in line


def test_every_command_of_the_table_exists_with_its_options():
    group = get_command(app)
    named = set()
    for line in re.findall(r"\| `(rankwise .+?)` \|", TEXT):
        _, name, *words = shlex.split(line)
        command = group.get_command(Context(group), name)
        if hasattr(command, "commands"):
            command = command.get_command(Context(command), words[0])
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
        named.add(name)
    # No question of a newcomer.
    assert set(group.list_commands(Context(group))) - named == {"warm-up", "reproduce"}


def test_the_python_runs(folder):
    (code,) = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    exec(compile(code, "SKILL.md", "exec"), {})


def test_llms_txt_links_pages_that_exist():
    text = (ROOT / "docs/llms.txt").read_text("utf-8")
    assert text.startswith("# rankwise\n\n> ")
    links = re.findall(r"\]\(https://rankwise\.readthedocs\.io/en/latest/(.+?)\.html\)", text)
    assert len(links) == text.count("](http")
    # Generated pages and the gallery are made from the code.
    missing = [name for name in links if not name.startswith("generated/")
               and not (ROOT / f"docs/{name}.rst").is_file()]  # fmt: skip
    assert missing == []
    assert len(links) == len(set(links))


def test_pages_for_other_programs_and_results_are_named():
    pages = (ROOT / "docs/llms.txt").read_text("utf-8")
    for name in ("boards", "coding_agents", "export", "operate", "pyterrier", "serve"):
        assert f"/{name}.html" in pages
    for text in (TEXT, pages):
        assert "`rankwise board FOLDER`" in text and "mteb" in text
