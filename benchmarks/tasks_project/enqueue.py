"""Makes the tables and enqueues as many tasks as the first argument says."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.tasks_project.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from benchmarks.tasks_project.tasks import noop  # noqa: E402

call_command("migrate", verbosity=0)
with transaction.atomic():
    for number in range(int(sys.argv[1])):
        noop.enqueue(number)
