"""The admin reads and writes jobs where the router says they are written, whatever it says of reads."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import connections

from django_jobqueue.models import Job
from tests.admin.conftest import Browser, told


class JobsElsewhere:
    def db_for_read(self, model, **hints):
        return "a-replica-that-is-down" if model._meta.app_label == "django_jobqueue" else None

    def db_for_write(self, model, **hints):
        return "jobs" if model._meta.app_label == "django_jobqueue" else None


pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "jobs"])


@pytest.fixture(autouse=True, scope="module")
def alias(django_db_setup):
    """A second connection to the test database, under the alias ``jobs``."""
    connections.settings["jobs"] = connections["default"].settings_dict
    yield
    connections["jobs"].close()
    del connections["jobs"]
    del connections.settings["jobs"]


@pytest.fixture
def chief(settings):
    settings.DATABASE_ROUTERS = [JobsElsewhere()]
    return Browser(get_user_model().objects.create_superuser("chief"))


def test_the_list_and_the_page_are_read_there(chief):
    job = Job.objects.enqueue("test.noop", idempotency_key="invoice-42")
    assert job._state.db == "jobs"
    assert chief.ids(q="invoice") == [job.pk]
    assert chief.page(job).status_code == 200


def test_a_verb_writes_there_and_its_log_where_users_are(chief):
    job = Job.objects.enqueue("test.noop")
    assert told(chief.act_on([job], "cancel")) == ["1 cancelled."]
    assert Job.objects.using("jobs").get().status == "cancelled"
    assert LogEntry.objects.using("default").get().object_id == str(job.pk)


def test_a_job_is_enqueued_there(chief):
    response = chief.enqueue(type="test.noop")
    assert response.status_code == 302
    assert Job.objects.using("jobs").get().enqueued_by == "chief"
