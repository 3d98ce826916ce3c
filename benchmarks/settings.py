"""Settings of the benchmarks and of the workers that they start.

``DATABASE_URL`` names the database that the benchmark made for itself. No more apps than the queue needs, so
that the memory measured is the queue's.
"""

from __future__ import annotations

import os
from typing import Any

import dj_database_url

SECRET_KEY = "only-for-benchmarks"
DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django_jobqueue",
    "benchmarks",
]

DATABASES: dict[str, Any] = {"default": dj_database_url.parse(os.environ["DATABASE_URL"])}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
elif DATABASES["default"]["ENGINE"].endswith("mysql"):
    DATABASES["default"]["OPTIONS"] = {"charset": "utf8mb4", "isolation_level": "read committed"}

JOBQUEUE: dict[str, Any] = {"WAKEUP": os.environ.get("BENCHMARK_WAKEUP", "notify")}
