"""Mutation tests by hand: one security check after the other is broken, and a test must notice each time.

`make mutants` runs them. Every mutant is applied to a copy of the project in a temporary folder, never to the
project itself. A mutant that no test notices shows that a test is missing.
"""
