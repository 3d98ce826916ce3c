"""The same settings for both backends; only ``TASKS`` and the backend's own app differ."""

import os

import dj_database_url

SECRET_KEY = "only-for-the-benchmark"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": dj_database_url.parse(os.environ["BENCH_DATABASE_URL"], conn_max_age=None)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
APP, BACKEND = {
    "jobqueue": ("django_jobqueue", "django_jobqueue.backend.JobQueueBackend"),
    "default": ("django_tasks_db", "django_tasks_db.DatabaseBackend"),
}[os.environ["BENCH_BACKEND"]]
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", APP]
TASKS = {"default": {"BACKEND": BACKEND}}
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "WARNING"}}
LOGGING["loggers"] = {name: {"level": "WARNING"} for name in ("django.tasks", "django_tasks")}
