"""Identity providers: the contract (`contract`), their settings (`options`, `registry`), one module for each."""
