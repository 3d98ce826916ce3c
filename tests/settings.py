"""Settings of the test suite: the example project's, on the database that ``DATABASE_URL`` names."""

from example_project.settings import *  # noqa: F403

DEBUG = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
