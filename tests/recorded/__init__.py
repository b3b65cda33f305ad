"""Records the answers of every public address to a table of valid and invalid requests, as text files.

A test runs the table again and compares, so that a change of behaviour seen from outside shows as a diff.
Only `service` uses names of the project, so that moving code does not change the record.
"""
