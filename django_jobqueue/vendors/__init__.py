"""What differs between databases. Nothing outside this package names one."""

from django_jobqueue.vendors.base import Claim, HeldClaim, NewRow, Table, Vendor
from django_jobqueue.vendors.expressions import DeepJSONField, ExactCharField, JSONText, Now, StatusIndex
from django_jobqueue.vendors.registry import is_supported, retry_transient, vendor_for

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
    "is_supported",
    "retry_transient",
    "vendor_for",
]
