"""Settings of the peers that are Django apps, one at a time: ``PEER`` names it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import dj_database_url

PEER = os.environ["PEER"]
PROCESSES = int(os.environ.get("PEER_PROCESSES", "1"))

SECRET_KEY = "only-for-benchmarks"
DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}

DATABASES: dict[str, Any] = {"default": dj_database_url.parse(os.environ["DATABASE_URL"], conn_max_age=None)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }

if PEER.startswith("django-tasks-db"):
    INSTALLED_APPS += ["django_tasks_db"]
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default"]}}
elif PEER == "django-ox":
    INSTALLED_APPS += ["django_ox"]
    TASKS = {"default": {"BACKEND": "django_ox.backend.OxBackend", "QUEUES": ["default"]}}
elif PEER == "django-vtasks":
    INSTALLED_APPS += ["django_vtasks", "django_vtasks.db"]
    TASKS = {"default": {"BACKEND": "django_vtasks.backends.db.DatabaseTaskBackend"}}
    VTASKS_CONCURRENCY = 20
    VTASKS_QUEUES: dict[str, Any] = {"default": {}}
elif PEER == "steady-queue":
    from steady_queue.configuration import Configuration

    INSTALLED_APPS += ["steady_queue"]
    TASKS = {"default": {"BACKEND": "steady_queue.backend.SteadyQueueBackend", "QUEUES": ["default"]}}
    STEADY_QUEUE = Configuration.Options(
        dispatchers=[Configuration.Dispatcher(polling_interval=timedelta(seconds=1), batch_size=500)],
        workers=[
            Configuration.Worker(
                queues=["*"], threads=3, polling_interval=timedelta(seconds=0.1), processes=PROCESSES
            )
        ],
    )
elif PEER == "django-q2":
    INSTALLED_APPS += ["django_q"]
    Q_CLUSTER = {
        "name": "peers",
        "workers": PROCESSES,
        "orm": "default",
        "timeout": 60,
        "retry": 3600,
        "bulk": 100,
        "queue_limit": 500,
        "save_limit": 0,
        "poll": 0.2,
        "catch_up": False,
        "log_level": "WARNING",
    }
elif PEER == "procrastinate":
    INSTALLED_APPS += ["procrastinate.contrib.django"]
    PROCRASTINATE_IMPORT_PATHS = ["benchmarks.peers.handlers.procrastinate"]
