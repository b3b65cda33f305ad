"""Attacks on the service in its shipped form (nginx, gunicorn, PostgreSQL): `make attacks`.

Each sends requests that would break a promise of `tools.promises`, and every one of them must be refused.
"""
