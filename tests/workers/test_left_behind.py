"""Nothing that one job does to its connection reaches the next one."""

from __future__ import annotations

import gc
import threading

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import override_settings

from django_jobqueue import job_handler, registry
from django_jobqueue.models import Job
from django_jobqueue.workers import connections
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)

# What a job leaves, and a question that has another answer in a session which was left it.
TRACES = {
    "postgresql": [
        ("SET search_path = pg_catalog", "SHOW search_path"),
        ("/* tenant */ set statement_timeout = 12345", "SHOW statement_timeout"),
        (
            "SELECT set_config('app.tenant', 'a', false)",
            "SELECT coalesce(current_setting('app.tenant', true), '')",
        ),
        ("SET ROLE pg_monitor", "SELECT current_user"),
        ("CREATE TEMPORARY TABLE left_behind (id int)", "SELECT to_regclass('pg_temp.left_behind')::text"),
        ("SELECT 1 AS id INTO TEMP left_behind", "SELECT to_regclass('pg_temp.left_behind')::text"),
        (
            "SELECT pg_advisory_lock(4711)",
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
        ),
        ("SELECT 1; SET work_mem = '777kB'", "SHOW work_mem"),
        ("UPDATE pg_settings SET setting = '888' WHERE name = 'work_mem'", "SHOW work_mem"),
    ],
    "mysql": [
        ("USE information_schema", "SELECT DATABASE()"),
        ("SET SESSION group_concat_max_len = 77", "SELECT @@group_concat_max_len"),
        ("SELECT @tenant := 'a'", "SELECT @tenant"),
        ("SELECT 1 INTO @tenant", "SELECT @tenant"),
        ("CREATE TEMPORARY TABLE left_behind (id int)", "SHOW CREATE TABLE left_behind"),
        ("SELECT GET_LOCK('left', 1)", "SELECT IS_USED_LOCK('left') = CONNECTION_ID()"),
        ("SET ROLE NONE; SET @tenant = 'a'", "SELECT @tenant"),
    ],
    "sqlite": [
        ("PRAGMA case_sensitive_like = 1", "SELECT 'A' LIKE 'a'"),
        ("ATTACH ':memory:' AS left_behind", "SELECT group_concat(name) FROM pragma_database_list"),
        ("CREATE TEMP TABLE left_behind (id int)", "SELECT count(*) FROM temp.sqlite_master"),
    ],
}[connection.vendor]


@pytest.fixture
def asked():
    """Handlers that leave a trace and that ask for it; the list of answers."""
    answers = []

    def leave(job, sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    async def leave_async(job, sql):
        await sync_to_async(leave)(job, sql)

    def ask(job, sql):
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                answers.append(cursor.fetchone()[0])
        except Exception as error:
            answers.append(type(error).__name__)

    async def ask_async(job, sql):
        await sync_to_async(ask)(job, sql)

    for function in (leave, leave_async, ask, ask_async):
        job_handler(f"test.trace_{function.__name__}")(function)
    yield answers
    for function in (leave, leave_async, ask, ask_async):
        registry.unregister(f"test.trace_{function.__name__}")


@pytest.mark.parametrize("way", ["", "_async"])
@pytest.mark.parametrize(("trace", "question"), TRACES)
def test_what_a_job_sets_in_its_session_is_gone_before_the_next_job(asked, trace, question, way):
    for type, sql in (("ask", question), ("leave", trace), ("ask", question)):
        Job.objects.enqueue(f"test.trace_{type}{way}", {"sql": sql}, max_retries=0)
    drain(concurrency=1, async_concurrency=1)
    assert list(Job.objects.values_list("status", flat=True)) == ["completed"] * 3
    assert asked[0] == asked[1]


def test_a_session_that_nothing_was_set_in_is_kept(asked, monkeypatch):
    opened = []

    def note(**_):
        opened.append(threading.current_thread().name)

    connection_created.connect(note)
    try:
        for _ in range(4):
            Job.objects.enqueue("test.trace_ask", {"sql": "SELECT 1"})
        drain(concurrency=1)
        assert opened.count("jobqueue-0") == 1
        with override_settings(JOBQUEUE={**settings.JOBQUEUE, "FRESH_CONNECTIONS": True}):
            for _ in range(4):
                Job.objects.enqueue("test.trace_ask", {"sql": "SELECT 1"})
            drain(concurrency=1)
        assert opened.count("jobqueue-0") == 5
    finally:
        connection_created.disconnect(note)


def test_what_the_project_sets_in_each_session_is_no_trace_of_a_job(asked):
    opened = []

    def prepare(connection, **_):
        opened.append(threading.current_thread().name)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1; SELECT 2" if connection.vendor == "postgresql" else "EXPLAIN SELECT 1")
            cursor.fetchall()

    connection_created.connect(prepare)
    try:
        for _ in range(4):
            Job.objects.enqueue("test.trace_ask", {"sql": "SELECT 1"})
        drain(concurrency=1)
    finally:
        connection_created.disconnect(prepare)
    assert opened.count("jobqueue-0") == 1


@override_settings(DEBUG=True)
def test_the_query_log_of_debug_begins_anew_with_each_job(asked):
    lengths = []

    def count(job):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        lengths.append(len(connection.queries_log))

    job_handler("test.count_queries")(count)
    try:
        for _ in range(3):
            Job.objects.enqueue("test.count_queries")
        drain(concurrency=1)
    finally:
        registry.unregister("test.count_queries")
    assert len(lengths) == 3
    assert lengths[1] == lengths[2]


@override_settings(DEBUG=True)
def test_the_workers_own_connection_keeps_no_query_log():
    with connections.own("default"):
        connection.close()
        Job.objects.count()
        assert not connection.queries_log
    Job.objects.count()
    assert connection.queries_log


@pytest.mark.parametrize("is_async", [False, True])
def test_connections_of_a_handlers_own_threads_are_closed_when_these_are_gone(is_async):
    opened = []

    def use():
        Job.objects.exists()
        opened.append(connection.connection)

    def start_threads(job):
        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    async def start_async(job):
        start_threads(job)

    def is_closed(driver):
        try:
            driver.cursor().execute("SELECT 1")
        except Exception:
            return True
        return False

    job_handler("test.threads")(start_async if is_async else start_threads)
    gc.disable()
    try:
        for _ in range(2):
            Job.objects.enqueue("test.threads", max_retries=0)
        assert drain(concurrency=1)["completed"] == 2
        assert [is_closed(driver) for driver in opened] == [True] * 6
    finally:
        gc.enable()
        registry.unregister("test.threads")


def test_a_connection_of_a_thread_that_goes_on_stays_open():
    go_on, done = threading.Event(), threading.Event()
    answers = []

    def use():
        Job.objects.exists()
        done.set()
        go_on.wait(60)
        answers.append(Job.objects.exists())
        connection.close()

    threads = []

    def start_thread(job):
        threads.append(threading.Thread(target=use))
        threads[0].start()
        done.wait(60)

    job_handler("test.threads")(start_thread)
    try:
        Job.objects.enqueue("test.threads", max_retries=0)
        drain(concurrency=1)
    finally:
        registry.unregister("test.threads")
        go_on.set()
        threads[0].join()
    assert answers == [True]
