"""Hearing of new jobs where the database tells, and of any change at all where it only tells that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connections

from django_jobqueue.conf import settings
from django_jobqueue.jobs.notify import channel_of
from django_jobqueue.vendors import vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


class Listener:
    """The worker's ear, on the worker's own connection. What it hears is a hint; polling goes on beside it."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._listening_on: object = None
        self._marker: int | None = None
        self.fileno: int | None = None

    def attend(self) -> None:
        """Listen, again after a reconnection; does nothing where the database tells nothing."""
        connection = connections[self._manager.write_alias]
        vendor = vendor_for(connection)
        if not vendor.notifies or settings().WAKEUP != "notify":
            return
        connection.ensure_connection()
        if connection.connection is not self._listening_on:
            self.fileno = vendor.listen(connection, channel_of(self._manager))
            self._listening_on = connection.connection

    def heard(self) -> set[str]:
        """The queues that were told of since the last call. Raises when the connection turns out dead."""
        connection = connections[self._manager.write_alias]
        if self._listening_on is None or connection.connection is not self._listening_on:
            self.fileno = None
            return set()
        return vendor_for(connection).heard(connection)

    def nothing_changed(self) -> bool:
        """Whether the database says that nobody changed anything since the last call; false when it cannot."""
        connection = connections[self._manager.write_alias]
        marker = vendor_for(connection).change_marker(connection)
        unchanged = marker is not None and marker == self._marker
        self._marker = marker
        return unchanged

    def forget(self) -> None:
        """The connection is gone."""
        self._listening_on = self.fileno = self._marker = None
