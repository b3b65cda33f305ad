"""SD-JWTs (RFC 9901) as a library: issuing, parsing, processing and verifying. Pure."""
