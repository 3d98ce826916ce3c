"""System checks: what would make the queue unsafe or silent is said before it runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.management import get_commands
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connections, router

from django_jobqueue import conf, registry
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.vendors import vendor_for


@register("jobqueue")
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """``JOBQUEUE`` holds known options with sensible values that do not contradict each other."""
    found: list[CheckMessage] = []
    given = getattr(django_settings, "JOBQUEUE", {})
    for option, sentence in conf.problems(given):
        found.append(Error(sentence, obj=f"JOBQUEUE[{option!r}]", id="django_jobqueue.E001"))
    if not django_settings.USE_TZ:
        found.append(
            Error(
                "USE_TZ is False: run_at and leases would be ambiguous.",
                hint="Set USE_TZ = True.",
                id="django_jobqueue.E002",
            )
        )
    if found:
        return found
    options = conf.settings()
    for name in ("LEASE_SECONDS", "API_LEASE_SECONDS"):
        lease = getattr(options, name)
        if lease > options.MAX_LEASE_SECONDS:
            found.append(
                Error(
                    f"JOBQUEUE[{name!r}] ({lease}) is longer than MAX_LEASE_SECONDS "
                    f"({options.MAX_LEASE_SECONDS}).",
                    id="django_jobqueue.E003",
                )
            )
    if options.LEASE_SECONDS < 10:
        found.append(
            Warning(
                f"JOBQUEUE['LEASE_SECONDS'] is {options.LEASE_SECONDS}: a worker that stalls for "
                f"{options.LEASE_SECONDS} s loses its jobs to others while it still runs them.",
                hint="Use 30 or more unless handlers are safe to run twice at once.",
                id="django_jobqueue.W001",
            )
        )
    return found


@register(Tags.compatibility)
def check_command_names(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """No other installed app takes the name ``runworker``."""
    owner = get_commands().get("runworker")
    others = [
        config.name
        for config in apps.get_app_configs()
        if config.name != "django_jobqueue" and _has_runworker(config)
    ]
    if not others:
        return []
    runs = owner if isinstance(owner, str) else getattr(owner, "__module__", "?")
    return [
        Warning(
            f"{', '.join(others)} has a runworker command too; 'manage.py runworker' runs that of {runs}.",
            hint="Start workers of this queue with 'manage.py jobqueue_worker'.",
            id="django_jobqueue.W002",
        )
    ]


def _has_runworker(config: AppConfig) -> bool:
    return (Path(config.path) / "management" / "commands" / "runworker.py").exists()


@register(Tags.database)
def check_databases(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """The jobs' database keeps what the queue promises. Runs for the databases of ``check --database``."""
    alias = router.db_for_write(apps.get_model("django_jobqueue", "Job"))
    if not databases or alias not in databases:
        return []
    return database_problems(alias)


@register("jobqueue")
def check_atomic_handlers(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """One transaction can hold the end of an atomic handler's job and the handler's own writes."""
    alias = router.db_for_write(apps.get_model("django_jobqueue", "Job"))
    atomic = sorted(handler.type for handler in registry.handlers() if handler.atomic)
    if alias == DEFAULT_DB_ALIAS or not atomic:
        return []
    return [
        Error(
            f"The handlers of {', '.join(atomic)} are atomic: they write to the database {DEFAULT_DB_ALIAS!r}, but a "
            f"database router puts jobs into {alias!r}, and no transaction spans both.",
            hint=f"Route django_jobqueue to {DEFAULT_DB_ALIAS!r}, or use once() in handlers that are not atomic.",
            id="django_jobqueue.E012",
        )
    ]


def database_problems(alias: str) -> list[CheckMessage]:
    """What makes the database of ``alias`` unfit for jobs, as check messages."""
    connection = connections[alias]
    try:
        vendor = vendor_for(connection)
    except NotSupportedError as error:
        return [Error(f"The jobs' database {alias!r}: {error}", id="django_jobqueue.E010")]
    found: list[CheckMessage] = []
    for level, sentence in vendor.problems(connection):
        message = f"The jobs' database {alias!r}: {sentence}"
        if level == "error":
            found.append(Error(message, id="django_jobqueue.E011"))
        else:
            found.append(Warning(message, id="django_jobqueue.W010"))
    return found


@register("jobqueue")
def check_tasks_framework(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Where ``TASKS`` names this app's backend there is a framework to use it."""
    aliases = getattr(django_settings, "TASKS", {})
    if not isinstance(aliases, dict):  # the framework's own error says so
        return []
    backends = {name: alias.get("BACKEND") for name, alias in aliases.items() if isinstance(alias, dict)}
    ours = [name for name, backend in backends.items() if str(backend).startswith("django_jobqueue.")]
    if not ours or find_spec("django.tasks") or find_spec("django_tasks"):
        return []
    return [
        Error(
            f"TASKS[{ours[0]!r}] uses JobQueueBackend, but this Django has no tasks framework.",
            hint="Install its backport: pip install 'django-tasks>=0.12'.",
            id="django_jobqueue.E022",
        )
    ]


def task_backend_problems(
    alias: str, queues: Collection[str], options: Mapping[str, Any]
) -> list[CheckMessage]:
    """What is wrong with an alias of ``TASKS`` that this app's backend serves, as check messages."""
    from django_jobqueue.tasks.options import DEFAULTS, check_option

    found: list[CheckMessage] = []
    if not apps.is_installed("django_jobqueue"):
        found.append(
            Error(
                f"TASKS[{alias!r}] uses JobQueueBackend, but its app is not installed.",
                hint="Add 'django_jobqueue' to INSTALLED_APPS.",
                id="django_jobqueue.E020",
            )
        )
    for name, value in options.items():
        try:
            if name not in DEFAULTS:
                raise InvalidJob(name, f"is no option; there are {', '.join(DEFAULTS)}.")
            check_option(name, value)
        except InvalidJob as error:
            found.append(Error(f"TASKS[{alias!r}]['OPTIONS'] {error}", id="django_jobqueue.E021"))
    patterns = (
        None if conf.problems(getattr(django_settings, "JOBQUEUE", {})) else conf.settings().WORKER_QUEUES
    )
    if patterns is not None:
        found += [
            Warning(
                f"TASKS[{alias!r}] has the queue {queue!r}, which no pattern of JOBQUEUE['WORKER_QUEUES'] matches: "
                "its tasks may wait for ever.",
                hint="Add the queue there, and to the --queues of a worker.",
                id="django_jobqueue.W020",
            )
            for queue in sorted(queues)
            if not any(fnmatchcase(queue, pattern) for pattern in patterns)
        ]
    return found
