"""Rows of the project that refer to jobs, attempts and executions: their ``on_delete`` is honoured."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from django_jobqueue import once
from django_jobqueue.models import Job, JobAttempt, JobExecution
from django_jobqueue.vendors import Now
from tests.support.referring import model
from tests.support.rows import job_in
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


def ended(status: str = "completed") -> Job:
    job = job_in(status, queue="done")
    Job.objects.filter(pk=job.pk).update(finished_at=Now(-3600))
    return job


def two_ended() -> tuple[Job, Job]:
    """A job to refer to, and one after it that nothing refers to."""
    return ended(), ended()


def left() -> set[int]:
    return set(Job.objects.values_list("pk", flat=True))


def prune() -> tuple[int, int]:
    pruned = Job.objects.prune(older_than=60)
    return pruned, pruned.kept


def test_cascade_takes_the_rows_of_the_project_along():
    with model("Invoice", job=models.ForeignKey(Job, models.CASCADE)) as invoices:
        referred, _ = two_ended()
        invoices.objects.create(job=referred)
        assert prune() == (2, 0)
        assert not invoices.objects.exists()


def test_set_null_leaves_the_rows_of_the_project():
    with model(
        "Invoice", job=models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+")
    ) as invoices:
        referred, _ = two_ended()
        invoices.objects.create(job=referred)
        assert prune() == (2, 0)
        assert invoices.objects.get().job_id is None


@pytest.mark.parametrize("on_delete", [models.PROTECT, models.RESTRICT, models.DO_NOTHING])
def test_what_may_not_go_is_passed_over_and_counted(on_delete):
    with model("Invoice", job=models.OneToOneField(Job, on_delete)) as invoices:
        referred, _ = two_ended()
        invoices.objects.create(job=referred)
        assert prune() == (1, 1)
        assert left() == {referred.pk}
        invoices.objects.all().delete()
        assert prune() == (1, 0)


def test_a_protected_row_behind_a_cascade_protects_the_job():
    with (
        model("Invoice", job=models.ForeignKey(Job, models.CASCADE)) as invoices,
        model("Payment", invoice=models.ForeignKey(invoices, models.PROTECT)) as payments,
    ):
        referred, _ = two_ended()
        payments.objects.create(invoice=invoices.objects.create(job=referred))
        assert prune() == (1, 1)
        assert left() == {referred.pk}
        assert invoices.objects.count() == 1


def test_a_job_leaves_the_many_to_many_relations_that_it_is_in():
    with model("Invoice", jobs=models.ManyToManyField(Job)) as invoices:
        referred, other = two_ended()
        invoice = invoices.objects.create()
        invoice.jobs.add(referred, other)
        assert prune() == (2, 0)
        assert invoice.jobs.count() == 0


def test_a_generic_relation_takes_its_rows_along():
    with model(
        "Tag",
        content_type=models.ForeignKey(ContentType, models.CASCADE),
        object_id=models.BigIntegerField(),
        content_object=GenericForeignKey(),
    ) as tags:
        relation = GenericRelation(tags)
        relation.contribute_to_class(Job, "project_tags")
        Job._meta._expire_cache()
        try:
            referred, _ = two_ended()
            tags.objects.create(content_object=referred)
            assert prune() == (2, 0)
            assert not tags.objects.exists()
        finally:
            Job._meta.private_fields.remove(relation)
            del Job.project_tags
            Job._meta._expire_cache()


def test_a_protected_attempt_protects_its_job():
    with model("Note", attempt=models.ForeignKey(JobAttempt, models.PROTECT)) as notes:
        referred, _ = ended("failed"), ended("failed")
        notes.objects.create(attempt=referred.attempts.get())
        assert prune() == (1, 1)
        assert left() == {referred.pk}


def test_the_command_tells_what_stays():
    with model("Invoice", job=models.ForeignKey(Job, models.PROTECT)) as invoices:
        referred, _ = two_ended()
        invoices.objects.create(job=referred)
        out = StringIO()
        call_command("prunejobs", "--older-than=0", stdout=out)
        assert out.getvalue() == "1 jobs were deleted. 1 stay: other rows of the project refer to them.\n"
        out = StringIO()
        call_command("prunejobs", "--older-than=0", "--json", stdout=out)
        assert json.loads(out.getvalue()) == {"dry_run": False, "pruned": 0, "kept": 1}


@pytest.mark.parametrize(("on_delete", "expected"), [(models.CASCADE, (2, 0)), (models.PROTECT, (1, 1))])
def test_executions_are_pruned_by_the_same_rule(on_delete, expected):
    with model("Refund", execution=models.ForeignKey(JobExecution, on_delete)) as refunds:
        for key in ("a", "b"):
            once(key, dict)
        refunds.objects.create(execution_id="a")
        pruned = JobExecution.objects.prune(older_than=0)
        assert (pruned, pruned.kept) == expected
        assert refunds.objects.count() == pruned.kept


@pytest.mark.parametrize("options", [{}, {"queues": ["default"]}, {"queues": ["default", "mail"]}])
def test_a_job_that_is_not_kept_completes_and_goes(options):
    with model("Invoice", job=models.ForeignKey(Job, models.CASCADE)) as invoices:
        invoices.objects.create(job=Job.objects.enqueue("test.unkept"))
        assert drain(**options) == {"completed": 1}
        assert not Job.objects.exists()
        assert not invoices.objects.exists()


def test_a_job_that_is_not_kept_but_protected_is_completed_and_stays():
    with model("Invoice", job=models.ForeignKey(Job, models.PROTECT)) as invoices:
        referred, _ = Job.objects.enqueue("test.unkept"), Job.objects.enqueue("test.unkept")
        invoices.objects.create(job=referred)
        assert drain() == {"completed": 2}
        assert list(Job.objects.values_list("pk", "status")) == [(referred.pk, "completed")]


def test_without_relations_no_row_of_the_project_is_looked_for():
    two_ended()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert prune() == (2, 0)
    deletes = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert len(deletes) == 2
