"""Handlers for the tests. What one does for others to see it writes into ``Effect``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone, translation

from django_jobqueue import Cancelled, PermanentFailure, RetryLater, Snooze, constant, job_handler


def record(job: Any, name: str) -> None:
    """Leave a trace that this run of the job came here."""
    from tests.support.models import Effect

    Effect.objects.create(name=name, job=job.id, fencing_token=job.fencing_token, pid=os.getpid())


@job_handler("test.noop")
def noop(job: Any, **payload: Any) -> None:
    pass


@job_handler("test.echo")
def echo(job: Any, **payload: Any) -> dict[str, Any]:
    return payload


@job_handler("test.large_result")
def large_result(job: Any, size: int) -> str:
    return "x" * size


@job_handler("test.fail")
def fail(job: Any, message: str = "boom") -> None:
    raise RuntimeError(message)


@job_handler("test.effect")
def effect(job: Any, name: str = "effect", seconds: float = 0.0) -> None:
    record(job, name)
    time.sleep(seconds)


@job_handler("test.lasting_rerun")
def lasting_rerun(job: Any, seconds: float = 0.0) -> None:
    """The first run takes ``seconds``; a later one goes on until there is an effect named ``go``."""
    from tests.support.models import Effect

    record(job, "effect")
    time.sleep(seconds)
    while job.retry_count and not Effect.objects.filter(name="go").exists():
        time.sleep(0.02)


@job_handler("test.async_effect")
async def async_effect(job: Any, name: str = "effect", seconds: float = 0.0) -> str:
    from tests.support.models import Effect

    await Effect.objects.acreate(name=name, job=job.id, fencing_token=job.fencing_token, pid=os.getpid())
    await asyncio.sleep(seconds)
    return "slept"


@job_handler("test.permanent")
def permanent(job: Any) -> None:
    raise PermanentFailure("never again")


@job_handler("test.retry_later")
def retry_later(job: Any, delay: float) -> None:
    raise RetryLater(delay, "not yet")


@job_handler("test.snooze")
def snooze(job: Any, delay: float) -> None:
    raise Snooze(delay)


@job_handler("test.until_cancelled")
def until_cancelled(job: Any) -> None:
    record(job, "started")
    while not job.cancel_requested:
        time.sleep(0.02)
    raise Cancelled("as asked")


@job_handler("test.progress")
def progress(job: Any, seconds: float = 0.0) -> None:
    job.heartbeat(progress={"done": 1})
    time.sleep(seconds)


@job_handler("test.slow_backoff", backoff=constant(600))
def slow_backoff(job: Any) -> None:
    raise RuntimeError("later")


@job_handler("test.timeout", timeout=0.3, max_retries=0)
def over_time(job: Any, swallow: bool = False) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            time.sleep(0.01)
        except Exception:
            if not swallow:
                raise


@job_handler("test.async_timeout", timeout=0.3, max_retries=0)
async def async_over_time(job: Any) -> None:
    await asyncio.sleep(20)


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _closed_connection() -> None:
    connection.close()


def _broken_connection() -> None:
    connection.ensure_connection()
    connection.connection.close()


def _open_transaction() -> None:
    from tests.support.models import Effect

    transaction.atomic().__enter__()
    Effect.objects.create(name="in an open transaction")


def _raw_transaction() -> None:
    from tests.support.models import Effect

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    Effect.objects.create(name="in an open transaction")


def _broken_transaction() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM there_is_no_such_table")


def _no_autocommit() -> None:
    transaction.set_autocommit(False)


def _other_language() -> None:
    translation.activate("de")
    timezone.activate("Asia/Tokyo")


def _raise(error: BaseException) -> None:
    raise error


ILL_BEHAVIOUR: dict[str, Any] = {
    "SystemExit": lambda: sys.exit(3),
    "KeyboardInterrupt": lambda: _raise(KeyboardInterrupt()),
    "GeneratorExit": lambda: _raise(GeneratorExit()),
    "BaseException": lambda: _raise(BaseException("bare")),
    "unreadable": lambda: _raise(UnreadableError()),
    "huge": lambda: _raise(ValueError("x" * 1_000_000)),
    "unstorable": lambda: _raise(ValueError("a\0b\ud800")),
    "closed connection": _closed_connection,
    "broken connection": _broken_connection,
    "open transaction": _open_transaction,
    "raw transaction": _raw_transaction,
    "broken transaction": _broken_transaction,
    "no autocommit": _no_autocommit,
    "other language": _other_language,
}


@job_handler("test.misbehave")
def misbehave(job: Any, how: str) -> None:
    ILL_BEHAVIOUR[how]()


@job_handler("test.surroundings")
def surroundings(job: Any) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        answer = cursor.fetchone()[0]
    return {
        "language": translation.get_language(),
        "timezone": timezone.get_current_timezone_name(),
        "in_transaction": connection.in_atomic_block,
        "autocommit": connection.get_autocommit(),
        "answer": answer,
    }


@job_handler("test.result")
def result(job: Any, kind: str) -> Any:
    return {"set": {1}, "nan": float("nan"), "huge": "x" * 10_000_000, "nul": "a\0"}[kind]


@job_handler("test.crash")
def crash(job: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@job_handler("test.delete_itself")
def delete_itself(job: Any) -> None:
    from django_jobqueue.models import Job

    Job.objects.filter(pk=job.id).delete()


@job_handler("test.rest")
def rest(job: Any, seconds: float) -> None:
    time.sleep(seconds)


@job_handler("test.async_rest")
async def async_rest(job: Any, folder: str) -> None:
    """Goes on until ``folder`` has a file named ``go``, then leaves a file for this run; needs no database."""
    while not (Path(folder) / "go").exists():
        await asyncio.sleep(0.05)
    (Path(folder) / f"{job.id}-{job.fencing_token}").touch()


_meeting: dict[int, int] = {}


@job_handler("test.async_meet")
async def async_meet(job: Any, number: int) -> None:
    """Ends once ``number`` of these run at the same time."""
    _meeting[number] = _meeting.get(number, 0) + 1
    while _meeting[number] < number:
        await asyncio.sleep(0.01)


@job_handler("test.unkept", keep_completed=False)
def unkept(job: Any, fail_first: bool = False, vanish: bool = False) -> None:
    if vanish:
        from django_jobqueue.models import Job

        Job.objects.filter(pk=job.id).delete()
        raise RuntimeError("a person deleted this job")
    if fail_first and job.retry_count == 0:
        raise RuntimeError("once")


@job_handler("test.exit")
def exit_at_once(job: Any) -> None:
    """End the process without a signal."""
    os._exit(3)


@job_handler("test.crash_at_every_other_attempt")
def crash_at_every_other_attempt(job: Any) -> None:
    if job.retry_count % 2 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("this time by an exception")


@job_handler("test.atomic_effect", atomic=True)
def atomic_effect(job: Any, name: str = "effect", seconds: float = 0.0) -> str:
    record(job, name)
    time.sleep(seconds)
    return "committed"


@job_handler("test.leave_behind")
def leave_behind(job: Any, what: str) -> None:
    """Leave something behind that Python waits for at the process's end."""
    if what == "thread":
        threading.Thread(target=time.sleep, args=[3600], name="never-ending", daemon=False).start()
    else:
        ThreadPoolExecutor(1, "never-ending").submit(time.sleep, 3600)


@job_handler("test.lock_own_row")
def lock_own_row(job: Any, seconds: float) -> None:
    """Hold this job's own row in a transaction, as a foreign key to it does on MariaDB."""
    from django_jobqueue.models import Job

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job.id)
        time.sleep(seconds)


@job_handler("test.lease_at_the_end")
def lease_at_the_end(job: Any, seconds: float) -> bool:
    """Whether the lease has not run out after ``seconds``."""
    from django_jobqueue.models import Job

    time.sleep(seconds)
    return not Job.objects.all().stale().filter(pk=job.id).exists()


@job_handler("test.atomic_step", atomic=True)
def atomic_step(job: Any, seconds: float = 0.0) -> None:
    """An effect that is committed with the job's end, a little after it was written."""
    record(job, "atomic")
    time.sleep(seconds)


@job_handler("test.until_go")
def until_go(job: Any, folder: str) -> None:
    """Goes on until ``folder`` has a file named ``go``."""
    while not (Path(folder) / "go").exists():
        time.sleep(0.02)
