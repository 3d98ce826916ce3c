"""Drain no-op tasks with one worker process: this backend beside the default database backend, in one run.

    python -m benchmarks.tasks_backend [--tasks 10000] [--runs 5] [--databases postgres sqlite] [--json FILE]

Needs ``django-tasks-db`` beside this project, and for PostgreSQL a server (``BENCH_POSTGRES_URL``, default
``postgres://postgres@127.0.0.1:5432/postgres``) on which it may create databases. The two take turns; the rate is
the median of the runs, each from the first task's start to the last one's end as their rows tell it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import dj_database_url

ROOT = Path(__file__).resolve().parent.parent
WANTED = {"postgres": 10.0, "sqlite": 5.0}
"""How many times the default backend's rate ours has to reach."""

WORKERS = {
    "jobqueue": ["runworker", "--drain", "--no-reload", "-v0"],
    "default": ["db_worker", "--batch", "--no-startup-delay", "--interval", "0", "-v0"],
}
ROWS = {
    "jobqueue": "SELECT count(*), min(claimed_at), max(finished_at) FROM django_jobqueue_job "
    "WHERE status = 'completed'",
    "default": "SELECT count(*), min(started_at), max(finished_at) FROM django_tasks_database_dbtaskresult "
    "WHERE status = 'SUCCESSFUL'",
}


@contextmanager
def sqlite() -> Iterator[str]:
    """The URL of a new SQLite file."""
    with tempfile.TemporaryDirectory(prefix="jobqueue-bench-") as folder:
        yield f"sqlite:///{folder}/tasks.sqlite3"


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a new PostgreSQL database."""
    import psycopg

    url = os.environ.get("BENCH_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/postgres")
    name = f"jobqueue_bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


DATABASES = {"postgres": postgres, "sqlite": sqlite}


def drain(backend: str, url: str, tasks: int) -> float:
    """Tasks a second of one worker process."""
    environment = {
        **os.environ,
        "BENCH_BACKEND": backend,
        "BENCH_DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "benchmarks.tasks_project.settings",
        "PYTHONPATH": str(ROOT),
    }
    enqueue = [sys.executable, "-m", "benchmarks.tasks_project.enqueue", str(tasks)]
    subprocess.run(enqueue, env=environment, cwd=ROOT, check=True)
    worker = [sys.executable, "-m", "django", *WORKERS[backend]]
    subprocess.run(worker, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    done, first, last = read(url, ROWS[backend])
    if done != tasks:
        raise SystemExit(f"{backend}: {done} of {tasks} tasks succeeded.")
    return tasks / (last - first).total_seconds()


def read(url: str, query: str) -> tuple[int, datetime, datetime]:
    """How many tasks are done, when the first one started and the last one ended."""
    if url.startswith("sqlite"):
        import sqlite3

        connection = sqlite3.connect(dj_database_url.parse(url)["NAME"])
        done, first, last = connection.execute(query).fetchone()
        connection.close()
        return done, datetime.fromisoformat(first), datetime.fromisoformat(last)
    import psycopg

    with psycopg.connect(url) as database:
        row: tuple[int, datetime, datetime] | None = database.execute(query).fetchone()
    assert row is not None
    return row


def measure(database: str, tasks: int, runs: int) -> dict[str, list[float]]:
    """The rates of both backends on ``database``, run by run."""
    rates: dict[str, list[float]] = {"jobqueue": [], "default": []}
    for _ in range(runs):
        for backend, so_far in rates.items():
            with DATABASES[database]() as url:
                so_far.append(drain(backend, url, tasks))
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=10_000, help="Tasks a run (default: 10,000).")
    parser.add_argument("--runs", type=int, default=5, help="Runs of each backend (default: 5).")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--json", type=Path, help="Write the rates of all runs to this file.")
    options = parser.parse_args()
    measured = {database: measure(database, options.tasks, options.runs) for database in options.databases}
    print(
        "| database | this backend, tasks/s | default backend, tasks/s | ratio | wanted |\n|---|---|---|---|---|"
    )
    missed = False
    for database, rates in measured.items():
        ours, theirs = statistics.median(rates["jobqueue"]), statistics.median(rates["default"])
        missed = missed or ours / theirs < WANTED[database]
        print(f"| {database} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.1f} | {WANTED[database]:.0f} |")
    if options.json:
        options.json.write_text(json.dumps({"tasks": options.tasks, "rates": measured}, indent=2))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
