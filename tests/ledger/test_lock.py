from __future__ import annotations

import signal

import pytest
from asgiref.sync import async_to_sync

from django_jobqueue import Snooze, job_lock
from django_jobqueue.exceptions import LockHeld, LockLost
from django_jobqueue.models import JobLock
from django_jobqueue.vendors import Now
from tests.support import racers
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until

committed = pytest.mark.django_db(transaction=True)

NAME = "import-prices"


def expire():
    JobLock.objects.filter(pk=NAME).update(lease_expires_at=Now(-1))


def stale():
    return JobLock.objects.filter(pk=NAME, lease_expires_at__lte=Now()).exists()


@pytest.mark.django_db
def test_a_lock_that_is_held_is_refused_and_a_job_would_come_again_later():
    with job_lock(NAME, lease_seconds=20), pytest.raises(LockHeld, match="import-prices") as caught:
        job_lock(NAME).__enter__()
    assert isinstance(caught.value, Snooze)
    assert 15 < caught.value.delay <= 20


@pytest.mark.django_db
def test_a_lock_is_free_again_after_its_block_whatever_happened_in_it():
    with pytest.raises(ConnectionError), job_lock(NAME):
        raise ConnectionError
    with job_lock(NAME) as lock:
        assert lock.fencing_token == 2


@pytest.mark.django_db
def test_locks_of_different_names_do_not_meet():
    with job_lock(NAME), job_lock("import-Prices") as other:
        assert other.fencing_token == 1


@pytest.mark.django_db
def test_the_token_rises_at_every_acquisition():
    tokens = []
    for _ in range(3):
        with job_lock(NAME) as lock:
            tokens.append(lock.fencing_token)
    assert tokens == [1, 2, 3]


@pytest.mark.django_db
def test_a_lock_whose_lease_has_run_out_can_be_taken_and_its_holder_is_told():
    with job_lock(NAME) as first:
        expire()
        with job_lock(NAME) as second:
            assert second.fencing_token == 2
            with pytest.raises(LockLost):
                first.renew()
            assert (first.lost, second.lost) == (True, False)
            second.renew()


@pytest.mark.django_db
def test_giving_back_a_lost_lock_does_not_free_that_of_the_next_holder(caplog):
    first, second = job_lock(NAME), job_lock(NAME)
    first.__enter__()
    expire()
    second.__enter__()
    first.__exit__()
    second.renew()
    assert "A lock was lost while it was held" in caplog.text


@pytest.mark.django_db
def test_a_late_holder_keeps_a_lock_that_nobody_took():
    with job_lock(NAME) as lock:
        expire()
        lock.renew()
        assert not stale()


@pytest.mark.django_db
def test_a_lock_that_was_given_back_cannot_be_renewed():
    with job_lock(NAME) as lock:
        pass
    with pytest.raises(LockLost):
        lock.renew()


@pytest.mark.django_db
def test_a_lock_object_is_for_one_time():
    with job_lock(NAME) as lock:
        pass
    with pytest.raises(RuntimeError, match="call job_lock again"):
        lock.__enter__()


@committed
def test_async_code_takes_a_lock_too():
    async def take():
        async with job_lock(NAME) as lock:
            return lock.fencing_token

    assert async_to_sync(take)() == 1
    with job_lock(NAME) as lock:
        assert lock.fencing_token == 2


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": NAME, "lease_seconds": 0}, "lease_seconds"),
        ({"name": NAME, "lease_seconds": "60"}, "lease_seconds"),
        ({"name": NAME, "wait": -1}, "wait"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments, field):
    with pytest.raises(ValueError, match=f"^{field}: "):
        job_lock(**arguments)


def test_processes_go_in_one_after_the_other(processes: Processes):
    inside = [processes.start(racers.enter_often, NAME, 10) for _ in range(3)]
    for process in inside:
        process.join(60)
    assert [process.exitcode for process in inside] == [0, 0, 0]
    left = sorted(int(name.split()[1]) for name in Effect.objects.values_list("name", flat=True))
    assert left == list(range(1, 31))


def test_a_lock_is_held_for_longer_than_its_lease_while_its_process_lives(processes: Processes):
    holder = processes.start(racers.hold, NAME, 1.0)
    wait_until(Effect.objects.filter(name="token 1").exists)
    first = JobLock.objects.get().lease_expires_at
    # Renewed twice, the lease ends after it had ended without.
    wait_until(lambda: (JobLock.objects.get().lease_expires_at - first).total_seconds() > 1.2)
    with pytest.raises(LockHeld):
        job_lock(NAME).__enter__()
    racers.leave("go")
    holder.join(20)
    assert holder.exitcode == 0
    with job_lock(NAME) as lock:
        assert lock.fencing_token == 2


def test_the_lock_of_a_killed_process_is_free_when_its_lease_has_run_out(processes: Processes):
    holder = processes.start(racers.hold, NAME, 1.0)
    wait_until(Effect.objects.filter(name="token 1").exists)
    kill(holder)
    with job_lock(NAME, wait=10) as lock:
        assert lock.fencing_token == 2


def test_a_stopped_process_believes_in_a_lock_that_it_has_lost_until_it_asks(processes: Processes):
    holder = processes.start(racers.hold, NAME, 1.0)
    wait_until(Effect.objects.filter(name="token 1").exists)
    kill(holder, signal.SIGSTOP)
    with job_lock(NAME, wait=10) as lock:
        racers.leave("go")
        kill(holder, signal.SIGCONT)
        holder.join(20)
        assert holder.exitcode == racers.LOST
        lock.renew()
