"""Mutation tests from a table: each mutant breaks one security check, and a test must fail.

`make mutants` runs them. Every mutant is applied to a copy of the project in a temporary folder, never to the
project itself. If no test fails, a test is missing.
"""
