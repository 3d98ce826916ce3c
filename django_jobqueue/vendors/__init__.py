"""What differs between databases. Nothing outside this package names one."""

from django_jobqueue.vendors.base import Vendor
from django_jobqueue.vendors.expressions import DeepJSONField, ExactCharField, JSONText, Now, StatusIndex
from django_jobqueue.vendors.poolers import hint
from django_jobqueue.vendors.registry import is_supported, retry_transient, vendor_for
from django_jobqueue.vendors.rows import Claim, HeldClaim, NewRow, Table
from django_jobqueue.vendors.traces import may_leave_traces

__all__ = [
    "Claim",
    "DeepJSONField",
    "ExactCharField",
    "HeldClaim",
    "JSONText",
    "NewRow",
    "Now",
    "StatusIndex",
    "Table",
    "Vendor",
    "hint",
    "is_supported",
    "may_leave_traces",
    "retry_transient",
    "vendor_for",
]
