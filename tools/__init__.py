"""Programs beside the tests: benchmarks, mutants, drills and fuzzing. `make help` lists how to run them."""
