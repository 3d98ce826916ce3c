"""Settings of the example shop. ``DATABASE_URL`` names the database; by default it is a SQLite file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import django
from django.core.exceptions import ImproperlyConfigured

try:
    import dj_database_url
except ImportError as error:
    raise ImproperlyConfigured(
        f"{error.msg}: install the example's packages, pip install -e '.[demo]'"
    ) from None

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(os.environ.get("SHOP_VAR_DIR", BASE_DIR / "var"))
VAR_DIR.mkdir(parents=True, exist_ok=True)

SECRET_KEY = os.environ.get("SECRET_KEY", "only-for-the-example-shop-on-this-machine")
DEBUG = os.environ.get("DEBUG", "") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "testserver"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "django_filters",
    "django_jobqueue",
    "example_project",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "example_project.urls"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, Any] = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(VAR_DIR / "shop.sqlite3")}
}
if url := os.environ.get("DATABASE_URL"):
    DATABASES["default"] = dj_database_url.parse(url)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
elif DATABASES["default"]["ENGINE"].endswith("mysql"):
    DATABASES["default"].setdefault("OPTIONS", {}).update(charset="utf8mb4", isolation_level="read committed")

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
}

SHOP_MAIL_DIR = VAR_DIR / "mail"
SHOP_IMAGES_DIR = VAR_DIR / "images"
SHOP_GATEWAY_URL = os.environ.get("SHOP_GATEWAY_URL", "")
SHOP_WEBHOOK_URL = os.environ.get("SHOP_WEBHOOK_URL", "")

if django.VERSION >= (6, 1):
    MAILERS = {
        "default": {
            "BACKEND": "example_project.mail.EmailBackend",
            "OPTIONS": {"file_path": SHOP_MAIL_DIR},
        }
    }
else:
    EMAIL_BACKEND = "example_project.mail.EmailBackend"
    EMAIL_FILE_PATH = SHOP_MAIL_DIR

JOBQUEUE: dict[str, Any] = {
    "EXTERNAL_JOB_TYPES": ["resize-video"],
    # Seconds. The demo, which kills a worker, does not want to wait long for the reaper.
    "REAP_INTERVAL": float(os.environ.get("SHOP_REAP_INTERVAL", "5")),
}
