"""The personal data of operators that this app keeps, why and for how long."""

from infra.retention import Kept

ENTRIES = (
    Kept(
        "keys.SigningKey",
        columns=("reason",),
        what="signing key: why it was withdrawn",
        how="in clear",
        why="to account for the withdrawal",
        how_long="for ever",
    ),
    Kept(
        "keys.StatementKey",
        columns=("reason",),
        what="key for statements: why it was withdrawn",
        how="in clear",
        why="to account for the withdrawal",
        how_long="for ever",
    ),
    Kept(
        "keys.IdTokenKey",
        columns=("reason",),
        what="key for ID tokens: why it was withdrawn",
        how="in clear",
        why="to account for the withdrawal",
        how_long="for ever",
    ),
    Kept(
        "keys.KeyEvent",
        columns=("actor", "reason"),
        what="history of signing keys: what was done, by whom and why",
        how="in clear",
        why="to account for what operators did",
        how_long="for ever",
    ),
)
