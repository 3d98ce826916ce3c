"""Which statements may leave something in their session: a setting, a temporary table, a lock.

Statements are told by how they begin and by the words in them. Whatever is not known to be harmless counts, for a
mistake to that side costs a new connection and no more. What a function of the database sets out of sight is not
seen.
"""

from __future__ import annotations

import re
from typing import Any

_COMMENTS = r"\s*\(?(?:(?:/\*(?!M?!).*?\*/|--[^\n]*\n)\s*)*\(?"
_HARMLESS = (
    r"(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE|WITH|VALUES|SHOW"
    r"|SAVEPOINT|RELEASE|ROLLBACK|BEGIN|COMMIT)\b"
)
_TRANSACTIONS_OWN = r"SET\s+LOCAL\b|SET\s+CONSTRAINTS\b"

_HARMLESS_HERE = {
    "postgresql": re.compile(f"{_COMMENTS}(?:{_HARMLESS}|{_TRANSACTIONS_OWN})", re.IGNORECASE | re.DOTALL),
}
_HARMLESS_ELSEWHERE = re.compile(f"{_COMMENTS}{_HARMLESS}", re.IGNORECASE | re.DOTALL)

_SEVERAL = r";\s*\S"
_TELLTALE = {
    "postgresql": re.compile(
        rf"{_SEVERAL}|set_config|pg_settings|advisory_lock|pg_temp|INTO\s+(?:(?:LOCAL|GLOBAL)\s+)?TEMP",
        re.IGNORECASE,
    ),
    # @@name reads a setting; @name is a variable of the session.
    "mysql": re.compile(rf"{_SEVERAL}|(?<!@)@(?!@)|/\*M?!|get_lock", re.IGNORECASE),
}
_TELLTALE_ELSEWHERE = re.compile(_SEVERAL)


def may_leave_traces(vendor: str, sql: Any) -> bool:
    """Whether a session of Django's ``vendor`` may be another one after ``sql``."""
    if not isinstance(sql, str):
        return True
    if _HARMLESS_HERE.get(vendor, _HARMLESS_ELSEWHERE).match(sql) is None:
        return True
    return _TELLTALE.get(vendor, _TELLTALE_ELSEWHERE).search(sql) is not None
