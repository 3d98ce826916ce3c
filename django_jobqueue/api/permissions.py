"""Who may do what: Django's own permissions of ``Job``, and the ownership of jobs and claims."""

from __future__ import annotations

from typing import ClassVar

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.outsiders import may_read
from django_jobqueue.models import Job


class JobPermission(BasePermission):
    """Authenticated, and has the permission ``codename`` of ``Job``."""

    codename: ClassVar[str]

    def has_permission(self, request: Request, view: APIView) -> bool:
        codename = self.needed(request)
        self.message = f"This needs the permission {full_name(codename)}."
        return bool(request.user and request.user.is_authenticated and has(request, codename))

    def needed(self, request: Request) -> str:
        """The codename that this request needs."""
        return self.codename


class ViewJob(JobPermission):
    codename = "view_job"


class ViewOrEnqueueJob(ViewJob):
    """``enqueue_job`` to POST, ``view_job`` for everything else."""

    def needed(self, request: Request) -> str:
        return "enqueue_job" if request.method == "POST" else self.codename


class WorkJob(JobPermission):
    codename = "work_job"


class ManageJob(JobPermission):
    codename = "manage_job"


def full_name(codename: str) -> str:
    """A permission of ``Job`` as ``has_perm`` takes it."""
    return f"{Job._meta.app_label}.{codename}"


def has(request: Request, codename: str) -> bool:
    """Whether the caller has this permission of ``Job``."""
    return bool(request.user.has_perm(full_name(codename)))


def principal(request: Request) -> str:
    """The name under which the caller owns jobs and claims. Raises ``PermissionDenied`` if there is none."""
    try:
        return limits.check_text("user name", str(request.user.get_username()), limits.PRINCIPAL_LENGTH)
    except InvalidJob as error:
        raise PermissionDenied(f"This user cannot own jobs. {error}") from None


def may_read_payload(request: Request, job: Job) -> bool:
    """Whether the caller may read what is private of ``job``. Raises ``PermissionDenied`` as ``principal`` does."""
    principal(request)
    return may_read(request.user, job)
