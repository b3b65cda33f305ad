"""What scripts of other sites may read here: the headers of the Fetch standard's CORS protocol (§3.3). Pure.

They are for answers that depend on no cookie: public documents, and what is answered to an access token.
"""

# Not with credentials: a browser then sends no cookies, and shows no answer that it got with them.
READABLE = {"Access-Control-Allow-Origin": "*"}
_MAX_AGE = "86400"  # seconds for which a browser may keep the answer to a preflight


def preflight(methods: str) -> dict[str, str]:
    """The headers of the answer to a preflight, by which any header may be sent.

    methods: those that the address has, as in `Allow`. `*` stands for every header but `Authorization`, which
    has to be named (Fetch §4.9). Some clients send it to every address of a provider.
    """
    return {
        **READABLE,
        "Allow": methods,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "*, Authorization",
        "Access-Control-Max-Age": _MAX_AGE,
    }
