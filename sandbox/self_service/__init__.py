"""Self-service: developers register their own relying parties in the sandbox."""
