"""Settings of the server that ``benchmarks.http`` starts: those of the benchmarks, and what DRF needs."""

from __future__ import annotations

from benchmarks.settings import *  # noqa: F403
from benchmarks.settings import DATABASES, INSTALLED_APPS, JOBQUEUE

INSTALLED_APPS = [*INSTALLED_APPS, "rest_framework", "rest_framework.authtoken", "django_filters"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
ROOT_URLCONF = "benchmarks.http_urls"
ALLOWED_HOSTS = ["127.0.0.1"]
REST_FRAMEWORK = {"DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"]}
JOBQUEUE = {**JOBQUEUE, "EXTERNAL_JOB_TYPES": ["noop"]}

DATABASES["default"]["CONN_MAX_AGE"] = 600
