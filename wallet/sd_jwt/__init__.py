"""SD-JWTs (RFC 9901), as a library: issuing, taking apart, processing, verifying. Pure."""
