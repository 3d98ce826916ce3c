import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.admin.conftest import told

JOBS = "/operations/django_jobqueue/job/"

pytestmark = pytest.mark.urls("tests.admin.own_site")


@pytest.fixture
def client(db):
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("chief"))
    return client


def test_buttons_stay_on_the_site(jobs, client):
    job = jobs.enqueue("test.noop")
    page = client.get(f"{JOBS}{job.pk}/change/")
    assert f'formaction="{JOBS}{job.pk}/act/"' in page.content.decode()
    response = client.post(f"{JOBS}{job.pk}/act/", {"verb": "cancel", "fencing_token": "0"})
    assert response.url == f"{JOBS}{job.pk}/change/"
    assert jobs.get().status == "cancelled"


def test_enqueueing_stays_on_the_site(jobs, client):
    response = client.post(f"{JOBS}add/", {"type": "test.noop"})
    job = jobs.get()
    assert response.url == f"{JOBS}{job.pk}/change/"
    assert told(response) == [f"Job {job.pk} was enqueued."]


def test_a_page_leads_back_to_the_list_as_it_was_filtered(jobs, client):
    job = jobs.enqueue("test.noop")
    query = "?_changelist_filters=status%3Dpending"
    response = client.post(f"{JOBS}{job.pk}/act/{query}", {"verb": "cancel", "fencing_token": "0"})
    assert response.url == f"{JOBS}{job.pk}/change/{query}"
