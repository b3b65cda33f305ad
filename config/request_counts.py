"""What the service counts of each request. `config.middleware.EveryRequest` does the counting.

What a request meant is read from the facts of its line in the log (`infra.log_context`), so the log and the
metrics say the same.
"""

from config.counts.counting import Counter, Histogram

_PARTIES = {"relying_party": 50}  # how many relying parties are counted under their client id

DURATIONS = Histogram(
    "http_request_duration_seconds",
    "HTTP requests and how long they take, by the name of the route.",
    *("route", "method", "status"),
)
RECEIVED = Counter(
    "authorization_requests",
    "Authorization requests, by the first step that they need: sign_in, enroll (verify the identity), "
    "consent, unavailable; or refused, untrusted.",
    *("relying_party", "step"),
    bounded=_PARTIES,
)
SIGN_INS = Counter("sign_ins", "Sign-ins of holders, for a request or to look at the wallet.", "purpose")
ASKED = Counter(
    "consent_questions", "Holders who were asked for their consent.", "relying_party", bounded=_PARTIES
)
ANSWERED = Counter(
    "authorization_answers",
    "Answers to authorization requests: shared, or the error that was sent.",
    *("relying_party", "outcome"),
    bounded=_PARTIES,
)
