from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.receiver import Receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def options(settings: Any) -> Callable[..., None]:
    """Set options of ``JOBQUEUE``."""

    def choose(**options: Any) -> None:
        settings.JOBQUEUE = {**settings.JOBQUEUE, **options}

    return choose


@pytest.fixture
def receiver(options: Callable[..., None]) -> Iterator[Receiver]:
    """A receiver of web hooks whose network is allowed."""
    options(WEBHOOK_ALLOWED_NETWORKS=["127.0.0.0/8"], WEBHOOK_SECRETS={"default": SECRET}, WEBHOOK_TIMEOUT=10)
    listening = Receiver()
    yield listening
    listening.close()
