"""For huey on PostgreSQL: a module that its worker imports."""

from __future__ import annotations

import os

from huey.contrib.sql_huey import SqlHuey
from playhouse.db_url import connect

from benchmarks.harness.counter import note

huey = SqlHuey("peers", database=connect(os.environ["DATABASE_URL"]), results=False)


@huey.task()
def noop() -> None:
    note()
