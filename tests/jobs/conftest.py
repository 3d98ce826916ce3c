from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_jobqueue import registry
from django_jobqueue.models import Job
from tests.support import rows


@pytest.fixture
def job_in(jobs: Any) -> Callable[..., Job]:
    """A job brought into a status by the verbs; see ``rows.job_in``."""
    return rows.job_in


@pytest.fixture
def handler() -> Any:
    """Registers a handler for the time of the test: ``handler("type", max_retries=1)``."""
    made: list[str] = []

    def make(type: str, **options: Any) -> Any:
        made.append(type)

        def run(job: Any, **payload: Any) -> None:
            """Never called: these tests run no job."""

        return registry.job_handler(type, **options)(run)

    yield make
    for type in made:
        registry.unregister(type)
