"""What is kept of requests and their answers."""
