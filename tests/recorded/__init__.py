"""What every public address answers to a table of good and bad requests, kept as text files.

A test plays the table again and compares, so that a change of behaviour seen from outside shows as a diff.
Nothing here knows where the code is: see `service` for the few names of the project that are used.
"""
