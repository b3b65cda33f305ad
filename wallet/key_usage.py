"""What a signing key signed here, for `keys.rotation.usage`."""

from keys.rotation.usage import CountCredentials
from wallet.status_lists.statuses import signed_by

COUNT_CREDENTIALS: CountCredentials = signed_by
