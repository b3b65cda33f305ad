"""What a relying party is registered with beside its name, and what of it can be registered (RFC 7591 §2)."""
