"""Every status and every verb: an allowed edge changes the job, everything else leaves its row untouched."""

from __future__ import annotations

from typing import Any

import pytest

from django_jobqueue.exceptions import ClaimLost, JobNotFound, NotRunning, TransitionRefused, WrongStatus
from django_jobqueue.jobs.status import EDGES, FINISHED
from django_jobqueue.models import Job
from tests.support.rows import STATUSES, row_of

ACKNOWLEDGE = {
    "heartbeat": lambda job, **who: Job.objects.heartbeat(job.pk, **who),
    "complete": lambda job, **who: Job.objects.complete(job.pk, **who),
    "fail": lambda job, **who: Job.objects.fail(job.pk, error="boom", **who),
    "release": lambda job, **who: Job.objects.release(job.pk, **who),
    "snooze": lambda job, **who: Job.objects.release(job.pk, delay=60, **who),
}
MANAGE = {
    "cancel": lambda job: Job.objects.cancel(job.pk),
    "retry": lambda job: Job.objects.retry(job.pk),
    "run_now": lambda job: Job.objects.run_now(job.pk),
}
BULK = {
    "promote": lambda job: Job.objects.promote(),
    "claim": lambda job: Job.objects.claim(worker_id="worker-2"),
    "reap": lambda job: Job.objects.reap(),
    "prune": lambda job: Job.objects.prune(older_than=0),
    "complete_many": lambda job: Job.objects.complete_many([(job.pk, job.fencing_token, None)]),
    "renew_many": lambda job: Job.objects.renew_many([(job.pk, job.fencing_token)], lease_seconds=60),
}
VERBS: dict[str, Any] = {
    **{
        verb: lambda job, act=act: act(job, fencing_token=job.fencing_token)
        for verb, act in ACKNOWLEDGE.items()
    },
    **MANAGE,
    **BULK,
}

LIFE = {
    ("scheduled", "promote"): "pending",
    ("scheduled", "run_now"): "pending",
    ("scheduled", "cancel"): "cancelled",
    ("pending", "claim"): "running",
    ("pending", "cancel"): "cancelled",
    ("running", "heartbeat"): "running",
    ("running", "renew_many"): "running",
    ("running", "complete"): "completed",
    ("running", "complete_many"): "completed",
    ("running", "fail"): "pending",
    ("running", "reap"): "pending",
    ("running", "release"): "pending",
    ("running", "snooze"): "scheduled",
    ("running", "cancel"): "running",
    ("failed", "retry"): "pending",
    ("cancelled", "retry"): "pending",
    ("completed", "prune"): "gone",
    ("failed", "prune"): "gone",
    ("cancelled", "prune"): "gone",
}
REPEATED = {("completed", "complete"), ("failed", "fail"), ("cancelled", "cancel")}
"""What changes nothing but is answered like the first time."""

ELSEWHERE = [(status, verb) for status in STATUSES for verb in VERBS if (status, verb) not in LIFE]


@pytest.mark.parametrize(("status", "verb"), LIFE)
def test_an_edge_leads_to_its_status(job_in, status, verb):
    job = job_in(status)
    VERBS[verb](job)
    after = Job.objects.filter(pk=job.pk).first()
    assert (after.status if after else "gone") == LIFE[status, verb]


@pytest.mark.parametrize(("status", "verb"), LIFE)
def test_an_edge_changes_the_row(job_in, status, verb):
    job = job_in(status)
    before = row_of(job.pk)
    VERBS[verb](job)
    assert row_of(job.pk) != before


@pytest.mark.parametrize(("status", "verb"), ELSEWHERE)
def test_a_verb_from_elsewhere_leaves_the_row_as_it_is(job_in, status, verb):
    job = job_in(status)
    before = row_of(job.pk)
    try:
        VERBS[verb](job)
    except TransitionRefused:
        assert (status, verb) not in REPEATED
    assert row_of(job.pk) == before


@pytest.mark.parametrize(
    ("status", "verb"), [pair for pair in ELSEWHERE if pair[1] in ACKNOWLEDGE and pair not in REPEATED]
)
def test_an_acknowledgement_from_elsewhere_is_told_that_the_claim_is_lost(job_in, status, verb):
    with pytest.raises(ClaimLost):
        VERBS[verb](job_in(status))


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "running"])
@pytest.mark.parametrize("verb", ACKNOWLEDGE)
def test_an_acknowledgement_without_a_token_is_told_the_status(job_in, status, verb):
    job = job_in(status)
    before = row_of(job.pk)
    with pytest.raises(NotRunning) as refused:
        ACKNOWLEDGE[verb](job)
    assert (refused.value.status, refused.value.code) == (status, "not_running")
    assert row_of(job.pk) == before


@pytest.mark.parametrize(
    ("status", "verb"), [pair for pair in ELSEWHERE if pair[1] in MANAGE and pair not in REPEATED]
)
def test_a_person_is_told_the_status_that_a_verb_does_not_start_from(job_in, status, verb):
    with pytest.raises(WrongStatus, match=f"is {status}"):
        VERBS[verb](job_in(status))


@pytest.mark.parametrize(("status", "verb"), sorted(REPEATED))
def test_what_is_repeated_gets_the_same_job_again(job_in, status, verb):
    job = job_in(status)
    assert VERBS[verb](job).pk == job.pk


@pytest.mark.parametrize("verb", [*ACKNOWLEDGE, *MANAGE])
@pytest.mark.parametrize("job_id", [404, 0, -1, 2**63, 2**70])
def test_an_id_that_no_job_has_is_not_found(jobs, verb, job_id):
    with pytest.raises(JobNotFound, match=f"There is no job {job_id}"):
        VERBS[verb](Job(pk=job_id, fencing_token=1))


@pytest.mark.parametrize("verb", ACKNOWLEDGE)
@pytest.mark.parametrize("token", [0, 2, -1, 2**63, 2**70])
def test_another_token_than_the_claims_changes_nothing(job_in, verb, token):
    job = job_in("running")
    before = row_of(job.pk)
    with pytest.raises(ClaimLost):
        ACKNOWLEDGE[verb](job, fencing_token=token)
    assert row_of(job.pk) == before


@pytest.mark.parametrize("verb", ACKNOWLEDGE)
def test_another_principal_than_the_claims_changes_nothing(job_in, verb):
    job = job_in("running")
    before = row_of(job.pk)
    with pytest.raises(TransitionRefused) as refused:
        ACKNOWLEDGE[verb](job, fencing_token=1, claimed_by="somebody-else")
    assert refused.value.code == "not_owner"
    assert row_of(job.pk) == before


def test_the_table_of_edges_is_the_life_of_a_job():
    named = {"renew_many": "heartbeat", "complete_many": "complete", "snooze": "release"}
    named |= {"fail": "retry_or_fail", "reap": "retry_or_fail"}
    walked: dict[str, set[str]] = {}
    for (source, verb), target in LIFE.items():
        if verb == "prune":
            assert source in FINISHED
        else:
            edge = named.get(verb, verb)
            walked.setdefault(edge, set()).add(source)
            assert target in EDGES[edge][1]
    assert walked == {edge: set(sources) for edge, (sources, _) in EDGES.items()}


def test_a_job_is_not_saved(job_in):
    job = job_in("pending")
    job.status = "completed"
    before = row_of(job.pk)
    with pytest.raises(TypeError, match=r"verbs of Job\.objects"):
        job.save()
    assert row_of(job.pk) == before
