"""How a database would carry out the very statements that a verb sends."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from django_jobqueue.models import Job

TABLE = Job._meta.db_table

NAMES = (TABLE, "j", "h", "job", "later")
"""What the statements call the table."""

_AUTOMATIC = {f"sqlite_autoindex_{TABLE}_1": "jobqueue_job_idempotency_key"}

Statement = tuple[str, Sequence[Any]]


@dataclass
class Plan:
    """The indexes of the jobs' table that are used, whether the whole table is read, and whether rows are sorted."""

    text: str
    indexes: set[str] = field(default_factory=set)
    scans: bool = False
    sorts: bool = False


def statements_of(function: Callable[[], Any]) -> list[Statement]:
    """The statements on the jobs' table that ``function`` sends; what they change is undone."""
    sent: list[Statement] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if re.search(rf"\b{TABLE}\b", sql) and not sql.startswith("INSERT"):
            sent.append((sql, params or []))
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(note):
        function()
        transaction.set_rollback(True)
    return sent


def explain(statement: Statement, *, prepared: bool = False) -> Plan:
    """The plan of one statement; ``prepared``: the one for any parameters, where there is such a thing."""
    return {"sqlite": _sqlite, "mysql": _mysql, "postgresql": _postgresql}[connection.vendor](
        statement, prepared
    )


def _rows(sql: str, params: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _sqlite(statement: Statement, prepared: bool) -> Plan:
    details = [row[3] for row in _rows(f"EXPLAIN QUERY PLAN {statement[0]}", statement[1])]
    plan = Plan("\n".join(details))
    for detail in details:
        plan.sorts |= "TEMP B-TREE" in detail
        access = re.match(rf"(SEARCH|SCAN) ({'|'.join(NAMES)})\b", detail)
        if access is None:
            continue
        if index := re.search(r"USING (?:COVERING )?INDEX (\w+)", detail):
            plan.indexes.add(_AUTOMATIC.get(index[1], index[1]))
        elif "INTEGER PRIMARY KEY" in detail:
            plan.indexes.add("primary")
        else:
            plan.scans |= access[1] == "SCAN"
    return plan


def _mysql(statement: Statement, prepared: bool) -> Plan:
    rows = _rows(f"EXPLAIN {statement[0]}", statement[1])
    plan = Plan("\n".join(map(str, rows)))
    for _, _, table, access, _, key, _, _, _, extra in rows:
        plan.sorts |= "filesort" in (extra or "") or "temporary" in (extra or "")
        if table in NAMES:
            plan.scans |= access in ("ALL", "index")
            if key:
                plan.indexes.add("primary" if key == "PRIMARY" else key)
    return plan


def _postgresql(statement: Statement, prepared: bool) -> Plan:
    sql, params = statement
    if prepared:
        [(tree,)] = _rows(f"EXPLAIN (FORMAT JSON) EXECUTE {_prepare(sql)} ({_marks(params)})", params)
    else:
        [(tree,)] = _rows(f"EXPLAIN (FORMAT JSON) {sql}", params)
    tree = json.loads(tree) if isinstance(tree, str) else tree
    plan = Plan(json.dumps(tree, indent=1))
    _walk(tree[0]["Plan"], plan)
    return plan


_names = (f"planned_{number}" for number in itertools.count())


def _prepare(sql: str) -> str:
    numbers = itertools.count(1)
    name = next(_names)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE {name} AS " + re.sub("%s", lambda _: f"${next(numbers)}", sql), None)
    return name


def _marks(params: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(params))


def _walk(node: dict[str, Any], plan: Plan) -> None:
    plan.sorts |= "Sort" in node["Node Type"]
    plan.scans |= node["Node Type"] == "Seq Scan" and node["Relation Name"] == TABLE
    if name := node.get("Index Name"):
        plan.indexes.add("primary" if name.endswith("_pkey") else name)
    for child in node.get("Plans", ()):
        _walk(child, plan)
