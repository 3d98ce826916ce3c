"""A real ASGI server on the test database, in a process of its own."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

from tests.support.processes import Processes, wait_until
from tests.support.servers import free_port


def serve(port: int, options: dict[str, Any]) -> None:
    """Run uvicorn until it is killed. ``options`` are those of ``JOBQUEUE``."""
    import uvicorn
    from django.conf import settings
    from django.core.asgi import get_asgi_application

    from django_jobqueue import conf

    settings.JOBQUEUE = {**settings.JOBQUEUE, **options}
    conf.settings.cache_clear()
    uvicorn.run(get_asgi_application(), host="127.0.0.1", port=port, log_level="critical", lifespan="off")


def start_server(processes: Processes, **options: Any) -> str:
    """The URL of a new server that answers."""
    port = free_port()
    processes.start(serve, port, options)
    url = f"http://127.0.0.1:{port}"

    wait_until(lambda: answers(url))
    return url


def answers(url: str) -> bool:
    """Whether a server at ``url`` answers anything."""
    try:
        urllib.request.urlopen(f"{url}/jobs", timeout=5).close()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True
