"""Settings of the test suite: the example project's, on the database that ``DATABASE_URL`` names.

Without ``DATABASE_URL`` the tests run on a SQLite file. The test database is a real one (never in memory), so
that other processes of a test can open it.
"""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("SHOP_VAR_DIR", tempfile.mkdtemp(prefix="jobqueue-tests-"))

from example_project.settings import *  # noqa: F403
from example_project.settings import DATABASES, INSTALLED_APPS, VAR_DIR

DEBUG = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.support"]
TASKS = {
    "default": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "QUEUES": ["default", "mail"]},
    "any": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "QUEUES": []},
    "once": {
        "BACKEND": "tests.tasks_backend.backends.OnceBackend",
        "OPTIONS": {"max_retries": 0},
    },
}

_database = DATABASES["default"]
if _database["ENGINE"].endswith("sqlite3"):
    # Processes of one test share this file; a power cut during a test does not matter.
    _database["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    _database["TEST"] = {"NAME": str(Path(VAR_DIR) / "test.sqlite3")}
    if name := os.environ.get("JOBQUEUE_TEST_DATABASE"):
        _database["NAME"] = name
else:
    _database["TEST"] = {"NAME": f"test_jobqueue_{os.getpid()}"}
    if name := os.environ.get("JOBQUEUE_TEST_DATABASE"):
        _database["NAME"] = name
