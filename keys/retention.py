"""The personal data of operators that this app keeps, why and for how long."""

from infra.retention import table

ENTRIES = table(
    """
keys.SigningKey: reason | signing key: why it was withdrawn | in clear | to account for the withdrawal | for
    ever
keys.StatementKey: reason | key for statements: why it was withdrawn | in clear | to account for the
    withdrawal | for ever
keys.KeyEvent: actor reason | history of signing keys: what was done, by whom and why | in clear | to
    account for what operators did | for ever
""",
)
