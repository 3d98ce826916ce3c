"""The one door to ``settings.JOBQUEUE``: every option with its default, its range and what it is for."""

from __future__ import annotations

import base64
import dataclasses
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_network
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

Check = Callable[[Any], str | None]


def _integer(low: int, high: int) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            return f"must be an integer from {low} to {high}"
        return None

    return check


def _number(low: float, high: float) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return f"must be a number from {low:g} to {high:g}"
        return None

    return check


def _boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be True or False"


def _one_of(*choices: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in choices else "must be one of " + ", ".join(map(repr, choices))

    return check


def _names(value: Any) -> str | None:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        return "must be a list of job types"
    return None if all(isinstance(name, str) and name for name in value) else "must hold only job types"


def _integer_or_none(low: int, high: int) -> Check:
    def check(value: Any) -> str | None:
        wrong = value is not None and _integer(low, high)(value)
        return f"must be None or an integer from {low} to {high}" if wrong else None

    return check


def _depth(value: Any) -> str | None:
    depths = value if isinstance(value, dict) else {"any": value}
    named = all(isinstance(queue, str) and queue for queue in depths)
    if value is None or (named and not any(map(_integer(1, 10_000_000), depths.values()))):
        return None
    return "must be None, an integer from 1 to 10000000, or a dict of queue names to such integers"


def _fields(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, dict) or any(not isinstance(t, str) or _names(n) for t, n in value.items()):
        return "must be None or a dict of job types to lists of names"
    return None


def _backoff(value: Any) -> str | None:
    sentence = "must be None, a callable or the dotted path of one"
    try:
        loaded = import_string(value) if isinstance(value, str) else value
    except ImportError as error:
        return f"{sentence} ({error})"
    return None if loaded is None or callable(loaded) else sentence


def _patterns(value: Any) -> str | None:
    sentence = "must be None or a list of names or patterns of queues"
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        return sentence
    return None if all(isinstance(name, str) and name for name in value) else sentence


def _keeping(value: Any) -> str | None:
    keeping = value if isinstance(value, dict) else {"any": value}
    if all(isinstance(queue, str) and isinstance(keep, bool) for queue, keep in keeping.items()):
        return None
    return "must be True, False or a dict of queue names to these"


def _secret(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    text = value.removeprefix("whsec_")
    try:
        return len(base64.b64decode(text + "=" * (-len(text) % 4), validate=True)) >= 16
    except ValueError:
        return False


def _secrets(value: Any) -> str | None:
    sentence = (
        "must be None, a dict of names to secrets (base64 of 16 bytes or more, with or without whsec_) or lists of "
        "these, a callable that takes a name, or its dotted path"
    )
    try:
        loaded = import_string(value) if isinstance(value, str) else value
    except ImportError:
        return sentence
    if loaded is None or callable(loaded):
        return None
    if not isinstance(loaded, dict):
        return sentence
    for name, secrets in loaded.items():
        several = secrets if isinstance(secrets, list | tuple) else [secrets]
        if not isinstance(name, str) or not several or not all(map(_secret, several)):
            return sentence
    return None


def _networks(value: Any) -> str | None:
    sentence = "must be a list of networks such as '10.1.0.0/16'"
    if isinstance(value, str) or not isinstance(value, list | tuple):
        return sentence
    try:
        for network in value:
            ip_network(network)
    except ValueError as error:
        return f"{sentence} ({error})"
    return None


def _url(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and "://" in value):
        return None
    return "must be None or a URL such as 'amqps://name:password@host:5671/vhost'"


def _arguments(value: Any) -> str | None:
    if value is None or (isinstance(value, dict) and all(isinstance(name, str) for name in value)):
        return None
    return "must be None or a dict of arguments"


def _option(default: Any, check: Check, text: str, *, secret: bool = False) -> Any:
    """An option; the value of a ``secret`` one is in no message."""
    return dataclasses.field(default=default, metadata={"check": check, "text": text, "secret": secret})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of ``settings.JOBQUEUE``. Times are seconds, sizes bytes."""

    MAX_RETRIES: int = _option(
        3, _integer(0, 1000), "Retries of a job that names none itself. 0 never retries."
    )
    RETRY_BACKOFF: Any = _option(
        None,
        _backoff,
        "Wait before a retry when neither job nor handler names one: `exponential(...)`, `linear(...)`, "
        "`constant(...)`, a callable or its dotted path. `None` retries at once.",
    )
    LEASE_SECONDS: int = _option(
        60, _integer(3, 86400), "Lease of a claim by `runworker`, which renews it at a third."
    )
    API_LEASE_SECONDS: int = _option(
        600, _integer(3, 86400), "Lease of an HTTP claim that names none (such a worker may never renew)."
    )
    MAX_LEASE_SECONDS: int = _option(
        86400, _integer(3, 7 * 86400), "Longest lease that an HTTP caller may ask for."
    )
    PROMOTE_INTERVAL: float = _option(
        1.0, _number(0.05, 60), "How often a worker moves due scheduled jobs to pending."
    )
    REAP_INTERVAL: float = _option(
        5.0, _number(0.5, 3600), "How often a worker looks for jobs whose lease has run out."
    )
    POLL_INTERVAL: float = _option(
        1.0, _number(0.005, 60), "Longest wait of an idle worker between two looks at its queues."
    )
    SHUTDOWN_TIMEOUT: float = _option(
        30.0,
        _number(0, 86400),
        "How long a stopping worker lets running jobs finish before it gives them back.",
    )
    IDLE_TRANSACTION_TIMEOUT: Any = _option(
        3600,
        _integer_or_none(1, 86400),
        "How long a handler's transaction may wait for its next statement before the server ends the connection "
        "(PostgreSQL, MariaDB): so long a machine that died inside it can hold its job. `None` sets no limit.",
    )
    FRESH_CONNECTIONS: bool = _option(
        False,
        _boolean,
        "Close the database connections of a handler's thread after each job that used them. Needed only where "
        "functions of the database or the driver itself set something in the session: what a statement sets, a "
        "worker sees, and closes the connection then.",
    )
    WORKER_QUEUES: Any = _option(
        None,
        _patterns,
        "The queues that this project's workers serve, as shell-style patterns (`mail-*`): a check warns of a "
        "queue in `TASKS` that none matches. `None` says that every queue is served.",
    )
    AUTODISCOVER: bool = _option(
        True,
        _boolean,
        "Import the module `jobs` of every installed app when Django starts. Switch it off where such modules are "
        "something else, and import those with handlers in `ready` of their apps.",
    )
    KEEP_COMPLETED: Any = _option(
        True,
        _keeping,
        "Whether the rows of completed jobs stay until they are pruned. `False`, or `False` for a queue in a dict, "
        "lets `runworker` delete them at once; jobs with a key, and jobs claimed more than once, always stay.",
    )
    WAKEUP: str = _option(
        "notify",
        _one_of("notify", "poll"),
        'How idle workers learn of new jobs: `"notify"` (PostgreSQL tells them; polling goes on beside it) or '
        '`"poll"`. Other databases always poll. Use `"poll"` behind a transaction-level pooler.',
    )
    PREPARED_STATEMENTS: bool = _option(
        True,
        _boolean,
        "Let workers prepare their two hot statements on PostgreSQL. Switch it off behind a pooler that cannot.",
    )
    IDEMPOTENCY_MISMATCH: str = _option(
        "return",
        _one_of("return", "reject"),
        "What an enqueue gets whose key is taken by a job of another type or payload: that job, with a "
        'warning (`"return"`), or an error (`"reject"`).',
    )
    EXTERNAL_JOB_TYPES: Any = _option(
        (),
        _names,
        "Types that have no handler in this project and may be enqueued over HTTP for outside workers.",
    )
    REQUIRE_FENCING_TOKEN: bool = _option(
        False, _boolean, "Refuse HTTP acknowledgements that carry no `fencing_token`."
    )
    MAX_QUEUE_DEPTH: Any = _option(
        None,
        _depth,
        "Waiting jobs (pending or scheduled) of a queue from which on HTTP enqueues get 429: one number for every "
        "queue, or numbers by queue. `None` sets no bound.",
    )
    SENSITIVE_FIELDS: Any = _option(
        None,
        _fields,
        "Names of entries that are masked in the API, the admin and errors, by job type, in addition to what "
        "handlers name as `sensitive`.",
    )
    API_MAX_RETRIES: int = _option(
        1000, _integer(0, 1000), "Highest `max_retries` that an HTTP caller may ask for."
    )
    API_MAX_RUN_AT_DAYS: Any = _option(
        None,
        _integer_or_none(1, 84_000),
        "How many days ahead an HTTP caller's `run_at` may be. `None`: up to the year 2199.",
    )
    API_MAX_CLAIMS: int = _option(
        100, _integer(1, 1000), "Most jobs that one call of `claim-batch` may ask for."
    )
    API_MAX_COMPLETIONS: int = _option(
        500, _integer(1, 5000), "Most items that one call of `complete-batch` may have."
    )
    API_MAX_WAITING: int = _option(
        100,
        _integer(0, 10_000),
        "Most claims that wait for a job at the same time in one process (ASGI); others get their answer at once.",
    )
    MAX_PAYLOAD_BYTES: int = _option(
        65536, _integer(2, 16 * 1024 * 1024), "Largest payload, as compact UTF-8 JSON."
    )
    MAX_RESULT_BYTES: int = _option(
        65536, _integer(100, 16 * 1024 * 1024), "Largest result or progress, as compact UTF-8 JSON."
    )
    WEBHOOK_SECRETS: Any = _option(
        None,
        _secrets,
        "The secrets that web hooks are signed with, by name; two in a list while one replaces the other. Or a "
        "callable (or its dotted path) that is given a name and returns one or a list.",
        secret=True,
    )
    WEBHOOK_TIMEOUT: float = _option(
        15.0,
        _number(0.1, 600),
        "Longest delivery of a web hook, from the look-up of the host's name to the last byte that is read.",
    )
    WEBHOOK_MAX_RESPONSE_BYTES: int = _option(
        2048, _integer(0, 65536), "How much of the answer to a web hook is read and kept with the job."
    )
    WEBHOOK_ALLOWED_NETWORKS: Any = _option(
        (),
        _networks,
        "Networks that web hooks may go to although they are not public, for intranets and tests.",
    )
    BROKER_URL: str | None = _option(
        None, _url, "The broker that messages are published to, as kombu takes it.", secret=True
    )
    BROKER_OPTIONS: Any = _option(
        None,
        _arguments,
        "Further arguments of kombu's `Connection`: `ssl`, `transport_options` and others.",
        secret=True,
    )
    BROKER_TIMEOUT: float = _option(
        10.0,
        _number(0.1, 600),
        "Longest wait for each step with the broker: to connect, to send, to be confirmed.",
    )

    def keeps_completed(self, queue: str) -> bool:
        """Whether completed jobs of ``queue`` stay."""
        if isinstance(self.KEEP_COMPLETED, dict):
            return bool(self.KEEP_COMPLETED.get(queue, True))
        return bool(self.KEEP_COMPLETED)


def options() -> tuple[dataclasses.Field[Any], ...]:
    """Every option as a dataclass field: name, default, and ``metadata["check"]`` and ``["text"]``."""
    return dataclasses.fields(Settings)


def problems(given: Any) -> list[tuple[str, str]]:
    """What is wrong with a ``JOBQUEUE`` value, as (option, sentence) pairs; empty when nothing is."""
    if not isinstance(given, dict):
        return [("JOBQUEUE", "JOBQUEUE must be a dict.")]
    known = {option.name: option for option in options()}
    found = []
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(str(name).upper(), known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            found.append((str(name), f"JOBQUEUE has no option {name!r}.{hint}"))
        elif problem := known[name].metadata["check"](value):
            given_value = "" if known[name].metadata["secret"] else f", not {value!r}"
            found.append((name, f"JOBQUEUE[{name!r}] {problem}{given_value}."))
    return found


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The project's options over the defaults. Raises ``ImproperlyConfigured`` naming the first bad one."""
    given = getattr(django_settings, "JOBQUEUE", {})
    for _, sentence in problems(given):
        raise ImproperlyConfigured(sentence)
    return Settings(**given)


def autodiscovers() -> bool:
    """The option ``AUTODISCOVER``. Django's start asks it, before the checks tell of what is wrong in others."""
    given = getattr(django_settings, "JOBQUEUE", {})
    return not isinstance(given, dict) or given.get("AUTODISCOVER") is not False


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "JOBQUEUE":
        settings.cache_clear()


setting_changed.connect(_forget, dispatch_uid="django_jobqueue.conf")
