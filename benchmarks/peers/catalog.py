"""The peers by name. A name stands for one queue at one setting; each module of ``adapters`` says what that is."""

from __future__ import annotations

import importlib

from benchmarks.peers.peer import Peer

PEERS = {
    "jobqueue": "jobqueue:JobQueue",
    "jobqueue-async": "jobqueue:JobQueueAsync",
    "graphile-worker": "graphile:GraphileWorker",
    "pgqueuer": "pgqueuer:PgQueuer",
    "pgqueuer-sync": "pgqueuer:PgQueuerSync",
    "oban": "oban:Oban",
    "chancy": "chancy:Chancy",
    "procrastinate": "procrastinate:Procrastinate",
    "pg-boss": "pgboss:PgBoss",
    "django-tasks-db": "djangotasksdb:DjangoTasksDb",
    "django-ox": "djangoox:DjangoOx",
    "django-vtasks": "vtasks:DjangoVtasks",
    "django-q2": "djangoq2:DjangoQ2",
    "steady-queue": "steadyqueue:SteadyQueue",
    "huey-sql": "hueysql:HueySql",
    "celery": "celery:Celery",
    "dramatiq": "dramatiq:Dramatiq",
    "rq": "rq:Rq",
    "huey-redis": "hueyredis:HueyRedis",
    "jobqueue-sqlite": "jobqueue:JobQueueSqlite",
    "django-tasks-db-sqlite": "djangotasksdb:DjangoTasksDbSqlite",
    "huey-sqlite": "hueysqlite:HueySqlite",
    "jobqueue-mysql": "jobqueue:JobQueueMysql",
    "django-tasks-db-mysql": "djangotasksdb:DjangoTasksDbMysql",
}


def peer_of(name: str) -> Peer:
    """The peer ``name``; only in the peers' own environment, where its package is."""
    module, _, class_name = PEERS[name].partition(":")
    loaded = importlib.import_module(f"benchmarks.peers.adapters.{module}")
    peer: Peer = getattr(loaded, class_name)(name)
    return peer
