"""The statements of a presentation: read all that a request needs, write the question, write the answer.

The moment of consent is fast because each of these is one statement on PostgreSQL, in plain SQL with named
parameters. Beside each stands the plain way by Django's ORM, which SQLite uses. The tests compare the two row
by row (tests/presentation/test_fast_path.py). Nothing else of the product has SQL of its own for speed.
"""
