"""The jobs' table as a model without verbs: what ``Model.objects.create`` of the same row costs."""

from __future__ import annotations

from django.db import models

from django_jobqueue.models import Job


class PlainJob(models.Model):
    """A row of the jobs' table, without the queue's own ``save`` and manager."""

    class Meta:
        managed = False
        db_table = Job._meta.db_table

    def __str__(self) -> str:
        return str(self.pk)


for _field in Job._meta.local_concrete_fields:
    if not _field.primary_key:
        PlainJob.add_to_class(_field.name, _field.clone())
