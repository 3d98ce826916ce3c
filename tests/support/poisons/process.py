"""What harms the process, its connection or what is left behind there."""

from __future__ import annotations

import contextvars
import ctypes
import decimal
import gc
import locale
import logging
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

from django.db import connection, connections, transaction
from django.utils import timezone, translation

from tests.support.poisons.kinds import NEVER, isolated, poison


@poison
def os_exit() -> None:
    os._exit(3)


@poison
def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@poison
def terminate_itself() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@poison
def segmentation_fault() -> None:
    ctypes.string_at(0)


@poison
def abort() -> None:
    os.abort()


@poison
def recursion() -> None:
    recursion()


@poison
def close_standard_files() -> None:
    for number in range(3):
        os.close(number)


@poison
def close_stderr() -> None:
    sys.stderr.close()


@poison
def lose_stdout() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


@poison
def close_connection() -> None:
    connection.close()


@poison
def close_all_connections() -> None:
    connections.close_all()


@poison
def close_driver() -> None:
    connection.ensure_connection()
    connection.connection.close()


@poison
def no_autocommit() -> None:
    connection.set_autocommit(False)


@poison
def open_transaction() -> None:
    transaction.atomic().__enter__()


@poison
def raw_begin() -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")


@poison
def temporary_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE poison_left (id integer)")


@poison
def broken_transaction() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM no_such_table")


@poison
def other_time_zone() -> None:
    timezone.activate("Asia/Tokyo")
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()


@poison
def other_language() -> None:
    translation.activate("de")


@poison
def deleted_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    shutil.rmtree(folder)


@poison
def umask() -> None:
    os.umask(0o777)


@poison
def other_locale() -> None:
    locale.setlocale(locale.LC_ALL, "C")


@poison
def alarm() -> None:
    signal.alarm(1)


@poison
def collect_no_garbage() -> None:
    gc.disable()


@poison
def switch_rarely() -> None:
    sys.setswitchinterval(1)


@poison
def thread_left_behind() -> None:
    threading.Thread(target=time.sleep, args=(NEVER,)).start()


@poison
def thread_that_raises() -> None:
    threading.Thread(target=sys.exit, args=(3,)).start()


@poison
def child_left_behind() -> None:
    subprocess.Popen(["sleep", "2"])


@poison
def warnings_are_errors() -> None:
    warnings.simplefilter("error")


@poison
def no_logging() -> None:
    logging.disable(logging.CRITICAL)


@poison
def logging_shut_down() -> None:
    logging.shutdown()


@poison
def handler_that_raises() -> None:
    class Rude(logging.Handler):
        def emit(self, record: Any) -> None:
            raise RuntimeError("no line for you")

    logging.getLogger().addHandler(Rude())


@poison
def decimal_context() -> None:
    decimal.getcontext().prec = 1


@poison
def context_variable() -> None:
    contextvars.ContextVar("left").set("behind")


@poison
def path_emptied() -> None:
    sys.path.clear()


@poison
def module_removed() -> None:
    sys.modules.pop("json", None)


@poison
def seeds_the_chance() -> None:
    random.seed(1)


@poison
def hooks_replaced() -> None:
    sys.excepthook = threading.excepthook = lambda *_: sys.exit(5)


@poison
def trace_that_raises() -> None:
    def trace(*_: Any) -> Any:
        raise RuntimeError("traced")

    sys.settrace(trace)


@isolated
def close_all_files() -> None:
    os.closerange(0, 4096)


@isolated
def memory_used_up() -> Any:
    resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
    return bytearray(2**30)


@isolated
def descriptors_used_up() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    while True:
        os.dup(1)


@isolated
def signals_ignored() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


@isolated
def clock_stopped() -> None:
    time.time = lambda: 0.0
    time.monotonic = lambda: 0.0


@isolated
def child_that_returns() -> None:
    os.fork()
