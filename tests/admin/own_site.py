"""The URLs of a project with an admin site of its own, next to Django's."""

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.urls import path

from django_jobqueue.admin import JobAdmin
from django_jobqueue.models import Job

site = AdminSite(name="operations")
site.register(Job, JobAdmin)

urlpatterns = [path("admin/", admin.site.urls), path("operations/", site.urls)]
