"""The endpoint of the credential's type metadata (SD-JWT VC §5)."""

from infra.published.documents import PublishedDocument
from wallet.credential.type_metadata import document

# It changes only with a new release.
credential_type = PublishedDocument(document, max_age=86_400, refresh_after=3_600, asks_database=False)
