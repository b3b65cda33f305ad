"""The statements of a presentation: read all that a request needs, write the question, write the answer.

The moment of consent is fast because each of these is one statement on PostgreSQL, in plain SQL with named
parameters. Beside each stands the plain way by Django's ORM, which SQLite uses; that of the answer is the way
step by step (`requests.answers.answer`). The tests compare them row by row: `test_fast_path.py` and
`test_settlement.py`.
"""
