from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError

from django_jobqueue import PermanentFailure, job_lock, once
from django_jobqueue.models import JobExecution
from tests.ledger.conftest import entry
from tests.support.models import Effect

KEY = "invoice:42"

committed = pytest.mark.django_db(transaction=True)


class ElsewhereRouter:
    def db_for_write(self, model, **hints):
        return "queue" if model._meta.app_label == "django_jobqueue" else None


def effect():
    Effect.objects.create(name="effect")
    return "done"


def broken_effect():
    effect()
    raise ConnectionError("after the write")


def effects():
    return Effect.objects.count()


@committed
def test_inside_a_transaction_an_effect_is_refused_before_it_happens():
    refused = pytest.raises(TransactionManagementError, match="must be committed before the effect")
    with refused, transaction.atomic():
        once(KEY, effect)
    assert not JobExecution.objects.exists()
    assert effects() == 0


@pytest.mark.django_db
def test_inside_a_test_case_an_effect_is_allowed_but_not_inside_a_transaction_of_the_code_under_test():
    assert once(KEY, effect) == "done"
    with pytest.raises(TransactionManagementError), transaction.atomic():
        once("other", effect)


@committed
def test_without_autocommit_an_effect_is_refused_before_it_happens():
    transaction.set_autocommit(False)
    try:
        with pytest.raises(TransactionManagementError, match="must be committed before the effect"):
            once(KEY, effect)
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert effects() == 0


@committed
@pytest.mark.parametrize("atomic", [False, True])
def test_in_a_broken_transaction_an_effect_is_refused_before_it_happens(atomic):
    called = []
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic(savepoint=False):
            for _ in range(2):
                Group.objects.create(name="the same")
        with pytest.raises(TransactionManagementError, match="a transaction that is broken"):
            once(KEY, called.append, 1, atomic=atomic)
        transaction.set_rollback(True)
    assert called == []


@committed
def test_an_effect_that_leaves_a_transaction_open_is_not_recorded_as_done():
    def leaves_open():
        transaction.set_autocommit(False)

    try:
        with pytest.raises(TransactionManagementError, match="left a transaction open"):
            once(KEY, leaves_open)
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert entry().status == "processing"


@committed
def test_an_atomic_effect_and_its_record_commit_together():
    assert once(KEY, effect, atomic=True) == "done"
    assert (effects(), entry().status) == (1, "completed")
    assert once(KEY, effect, atomic=True) == "done"
    assert effects() == 1


@committed
def test_an_atomic_effect_that_fails_leaves_neither_writes_nor_record():
    with pytest.raises(ConnectionError):
        once(KEY, broken_effect, atomic=True)
    assert (effects(), JobExecution.objects.count()) == (0, 0)
    assert once(KEY, effect, atomic=True) == "done"


@committed
def test_an_atomic_effect_inside_a_transaction_is_undone_with_it():
    class UndoneError(Exception):
        pass

    with pytest.raises(UndoneError), transaction.atomic():
        once(KEY, effect, atomic=True)
        raise UndoneError
    assert (effects(), JobExecution.objects.count()) == (0, 0)


@committed
def test_an_atomic_effect_that_fails_inside_a_transaction_undoes_only_itself():
    with transaction.atomic():
        Effect.objects.create(name="before")
        with pytest.raises(ConnectionError):
            once(KEY, broken_effect, atomic=True)
    assert list(Effect.objects.values_list("name", flat=True)) == ["before"]
    assert not JobExecution.objects.exists()


@committed
def test_an_atomic_effect_whose_result_is_not_json_is_undone():
    with pytest.raises(PermanentFailure, match="was rolled back: its result: set is not JSON"):
        once(KEY, lambda: {effect()}, atomic=True)
    assert (effects(), JobExecution.objects.count()) == (0, 0)


@committed
def test_a_stale_entry_is_taken_over_by_an_atomic_effect_and_stays_stale_if_that_fails(left_open):
    left_open()
    with pytest.raises(ConnectionError):
        once(KEY, broken_effect, atomic=True)
    assert (entry().status, entry().attempts) == ("processing", 1)
    assert once(KEY, effect, atomic=True) == "done"
    assert (entry().status, entry().attempts, effects()) == ("completed", 2, 1)


@pytest.mark.django_db
def test_an_atomic_effect_is_refused_where_the_ledger_is_in_another_database(settings):
    settings.DATABASE_ROUTERS = ["tests.ledger.test_transactions.ElsewhereRouter"]
    with pytest.raises(ImproperlyConfigured, match="a database router puts it into 'queue'"):
        once(KEY, effect, atomic=True)
    assert effects() == 0


@committed
def test_inside_a_transaction_a_lock_is_refused():
    with pytest.raises(TransactionManagementError, match="job_lock"), transaction.atomic():
        job_lock("import").__enter__()


@committed
def test_an_effect_whose_connection_died_meanwhile_is_recorded_over_a_new_one():
    def cut():
        connection.connection.close()
        return "done"

    assert once(KEY, cut) == "done"
    assert (entry().status, entry().result) == ("completed", "done")
