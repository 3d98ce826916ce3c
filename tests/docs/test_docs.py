"""What README.md and the docs say is in the code, so that they cannot rot."""

from __future__ import annotations

import ast
import importlib
import inspect
import re

import pytest
from django.conf import global_settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.db import connection

from django_jobqueue import checks, exceptions, signals
from django_jobqueue.api import checks as api_checks
from django_jobqueue.backoff import MAX_DELAY
from django_jobqueue.conf import Settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.manager import JobManager
from django_jobqueue.jobs.pending.claim import MAX_CLAIMS
from django_jobqueue.jobs.priority import HIGHEST, LOWEST
from django_jobqueue.jobs.status import Status
from django_jobqueue.registry import Handler, job_handler
from tests.docs.pages import ROOT, Page, pages
from tests.docs.tables import settings_table

PAGES = pages()
DEPLOYMENT = Page("docs/deployment.md")
HANDLERS = Page("docs/handlers.md")
LIFE = Page("docs/life.md")

COMMANDS = ("runworker", "reapstale", "prunejobs", "demo", "check", "migrate")
OWN_COMMANDS = ("runworker", "reapstale", "prunejobs")
SOURCES = "\n".join(
    path.read_text()
    for package in ("django_jobqueue", "example_project", "examples")
    for path in (ROOT / package).rglob("*.py")
)
CHECKS = inspect.getsource(checks) + inspect.getsource(api_checks)
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)


def flags_of(command: str) -> set[str]:
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    return {flag for action in parser._actions for flag in action.option_strings}


def rows(table: str) -> list[list[str]]:
    """The cells of a Markdown table's rows, without the head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("path", ["README.md", "docs/settings.md"])
def test_the_table_of_settings_is_what_the_code_says(path: str):
    table = "\n".join(
        line
        for line in Page(path).text.splitlines()
        if line.startswith(("| option", "|---|---|---|---|", "| `"))
    )
    assert table == settings_table()


@EVERY_PAGE
def test_every_python_block_compiles(page: Page):
    for block in page.blocks:
        if block.language == "python":
            compile(block.text, page.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@EVERY_PAGE
def test_every_import_from_the_app_is_there(page: Page):
    missing = []
    for block in page.blocks:
        tree = ast.parse(block.text) if block.language == "python" else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("django_jobqueue"):
                module = importlib.import_module(str(node.module))
                missing += [alias.name for alias in node.names if not hasattr(module, alias.name)]
    assert missing == []


@EVERY_PAGE
def test_every_flag_of_a_command_exists(page: Page):
    wrong = []
    for line in page.code:
        command = next((word for word in re.findall(r"[a-z_]+", line) if word in COMMANDS), None)
        flags = re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)
        if command is not None:
            wrong += [f"{command} {flag}" for flag in flags if flag not in flags_of(command)]
        elif line.startswith("--"):
            wrong += [flag for flag in flags if not any(flag in flags_of(name) for name in COMMANDS)]
    assert wrong == []


@EVERY_PAGE
def test_every_setting_named_exists(page: Page):
    named = {
        name for line in page.code for name in re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b", line)
    }
    known = {*dir(global_settings), *connection.settings_dict, "BASE_DIR", "DJANGO_SETTINGS_MODULE"}
    known |= {"DISABLE_SERVER_SIDE_CURSORS"}
    assert {name for name in named - known if not re.search(rf"\b{name}\b", SOURCES)} == set()


@EVERY_PAGE
def test_every_verb_named_is_a_method_of_the_manager(page: Page):
    called = {name for line in page.code for name in re.findall(r"Job\.objects\.(\w+)", line)}
    assert {name for name in called if not hasattr(JobManager, name)} == set()


def test_every_verb_of_the_manager_is_in_the_table_of_verbs():
    verbs = {name for name, value in vars(JobManager).items() if inspect.isfunction(value)}
    # Not a change of state, or made of the verbs in the table.
    helpers = {
        "get_queryset",
        "retry_or_fail",
        "list_stale",
        "reap_batches",
        "count_prunable",
        "exchange",
        "complete_claims",
    }
    in_table = {name for row in rows(LIFE.section("Verbs").split("\n\n`fail`")[0]) for name in names(row[0])}
    assert in_table == verbs - helpers


def test_every_status_has_a_row():
    assert [names(row[0])[0] for row in rows(LIFE.section("States"))] == [str(status) for status in Status]


def test_the_exceptions_of_the_verbs_are_real():
    table = LIFE.section("Verbs").partition("| exception")[2]
    assert [n for n in re.findall(r"^\| `(\w+)`", table, re.MULTILINE) if not hasattr(exceptions, n)] == []


def test_the_limits_are_those_of_the_code():
    defaults = Settings()
    expected = {
        "`type`": f"1 to {limits.TYPE_LENGTH} characters",
        "`queue`": f"1 to {limits.QUEUE_LENGTH} characters",
        "`idempotency_key`": f"1 to {limits.KEY_LENGTH} characters",
        "`worker_id`": f"1 to {limits.WORKER_ID_LENGTH} characters",
        "`enqueued_by`, `claimed_by`": f"at most {limits.PRINCIPAL_LENGTH} characters",
        "`payload`": f"an object of at most `MAX_PAYLOAD_BYTES` ({defaults.MAX_PAYLOAD_BYTES}) bytes "
        "of compact UTF-8 JSON",
        "`result`, `progress`": f"JSON of at most `MAX_RESULT_BYTES` ({defaults.MAX_RESULT_BYTES}) bytes",
        "`meta`": f"an object of at most {limits.META_BYTES} bytes",
        "nesting of JSON": f"at most {limits.MAX_DEPTH} levels",
        "integers in JSON": f"{-(2**63)} to {2**63 - 1}",
        "`priority`": f"{LOWEST} to {HIGHEST}",
        "`max_retries`": f"0 to {limits.MAX_RETRIES}",
        "`run_at`": f"the years {limits.EARLIEST.year} to {limits.LATEST.year - 1}",
        "lease in Python": f"0.001 to {7 * 86400} seconds",
        "delay of a release, a snooze or a retry": f"0 to {366 * 86400} seconds",
        "wait by a backoff": f"at most {MAX_DELAY:.0f} seconds",
        "jobs in one `claim_many`": f"1 to {MAX_CLAIMS}",
        "`error`, an attempt's message": f"shortened to {limits.ERROR_LENGTH} characters",
        "an attempt's traceback": f"shortened to {4 * limits.ERROR_LENGTH} characters",
    }
    assert dict(rows(LIFE.section("Limits"))) == expected


@pytest.mark.parametrize("command", OWN_COMMANDS)
def test_every_option_of_a_command_is_in_the_docs(command: str):
    parser = BaseCommand().create_parser("manage.py", command)
    djangos = {flag for action in parser._actions for flag in action.option_strings}
    sections = {
        "runworker": "Options of `runworker`",
        "reapstale": "Reaping",
        "prunejobs": "Pruning",
    }
    table = re.findall(r"^\| (`--.*?) \|", DEPLOYMENT.section(sections[command]), re.MULTILINE)
    documented = {name.split()[0] for cell in table for name in names(cell)}
    assert documented == flags_of(command) - djangos


def test_every_system_check_is_in_the_docs():
    ids = set(re.findall(r'"(django_jobqueue\.[EW]\d{3})"', CHECKS))
    assert {names(row[0])[0] for row in rows(DEPLOYMENT.section("System checks"))} == ids


@EVERY_PAGE
def test_every_system_check_named_exists(page: Page):
    named = set(re.findall(r"django_jobqueue\.[EW]\d{3}", page.text))
    assert {id for id in named if f'"{id}"' not in CHECKS} == set()


def test_the_options_of_a_handler_are_in_the_docs():
    table = HANDLERS.text.partition("| option of `job_handler`")[2].partition("\n\n")[0]
    documented = set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
    assert documented == set(inspect.signature(job_handler).parameters) - {"type"}


def test_the_choices_of_using_are_in_the_docs():
    sentence = HANDLERS.text.partition("makes other choices for it:")[2].partition(".\n")[0]
    assert set(names(sentence)) == set(inspect.signature(Handler.using).parameters) - {"self"}


def test_every_signal_is_in_the_docs():
    there = {name for name, value in vars(signals).items() if isinstance(value, signals.Signal)}
    assert {names(row[0])[0] for row in rows(HANDLERS.section("Signals"))} == there


def test_the_links_of_the_readme_lead_somewhere():
    local = [link.partition("#")[0] for link in Page("README.md").links if "://" not in link]
    assert [link for link in local if not (ROOT / link).exists()] == []
