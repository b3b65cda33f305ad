"""Pages of docs/ for developers of relying applications, served by the sandbox."""
