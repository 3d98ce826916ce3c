"""What ``docs/tasks.md`` says is in the code."""

from __future__ import annotations

import dataclasses
import re

from django_jobqueue.jobs.status import Status
from django_jobqueue.tasks import JobTask
from django_jobqueue.tasks.framework import FRAMEWORK
from django_jobqueue.tasks.options import DEFAULTS
from django_jobqueue.tasks.resolve import PATIENCE
from django_jobqueue.tasks.results import status
from tests.docs.pages import Page
from tests.tasks_backend.framework import TaskResultStatus

PAGE = Page("docs/tasks.md")


def rows(heading: str) -> list[list[str]]:
    lines = [line for line in PAGE.section(heading).splitlines() if line.startswith("| `")]
    return [re.split(r" \| ", line.strip("| ")) for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_option_of_a_task_has_a_row():
    own = {field.name for field in dataclasses.fields(JobTask)}
    assert {names(row[0])[0] for row in rows("Options")} == own - {
        field.name for field in dataclasses.fields(FRAMEWORK.task)
    }


def test_the_options_of_a_backend_are_the_ones_that_name_it():
    assert {names(row[0])[0] for row in rows("Options") if "`OPTIONS`" in row[1]} == set(DEFAULTS)


def test_the_statuses_are_mapped_as_it_says():
    table = {names(left)[0]: names(right) for left, right in rows("A task is a job")}
    said = {job: name for name in TaskResultStatus.names for job in table[name]}
    assert said == {str(job): str(status(FRAMEWORK, job)) for job in Status}


def test_every_signal_has_a_row():
    assert [names(row[0])[0] for row in rows("Signals")] == ["task_enqueued", "task_started", "task_finished"]


def test_a_task_that_is_gone_waits_for_as_many_claims_as_it_says():
    assert f"After {PATIENCE} claims" in PAGE.text
