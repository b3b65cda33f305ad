"""Statements whose SQL is composed once per process, for the requests that every presentation makes.

Django composes the SQL of a queryset at each use, which takes several times as long as the database takes to
answer. A prepared statement keeps the SQL and the cursor, and fills in the values. It gives the same as the
queryset (tests/infra/test_prepared_statements.py). It depends on internals of Django's compiler, so the
service starts with that version of Django only with which it was tested (`infra.checks`).
"""
