"""The baseline: a Django project with one view that returns prepared bytes, and no middleware."""

import os

from tools.benchmarks.browsers import HOST

SECRET_KEY = os.environ["SECRET_KEY"]
DEBUG = False
ALLOWED_HOSTS = [HOST]
INSTALLED_APPS: list[str] = []
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "tools.benchmarks.bare.urls"
DATABASES: dict[str, dict[str, str]] = {}
USE_TZ = True
