"""What machines fetch from this room: the type metadata of the credential (SD-JWT VC §5)."""

from infra.published.documents import PublishedDocument
from wallet.type_metadata import document

# It changes with a new release only.
credential_type = PublishedDocument(document, max_age=86_400, refresh_after=3_600, asks_database=False)
