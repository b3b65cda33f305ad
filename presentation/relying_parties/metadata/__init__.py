"""The registered metadata of a relying party (RFC 7591 §2), and the rules for each value."""
