"""Any OpenID provider verifies a person: a bank, a national scheme, or a broker of several.

OpenID Connect Core, Discovery, and Identity Assurance, each in version 1.0; RFC 7636 (PKCE), RFC 9126
(pushed requests), RFC 9207 (the issuer in the response), RFC 7523 (`private_key_jwt`).
"""
