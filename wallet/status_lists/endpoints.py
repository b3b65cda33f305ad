"""What relying parties fetch: each status list (Token Status List §8.1), and the list of lists (§9.3)."""

from keys.published import PublishedDocument
from keys.published_family import PublishedFamily
from wallet.status_lists import publication

MAX_AGE = 30  # seconds: with the two delays of a few seconds before it, a change is out within a minute


def _document(list_id: int) -> PublishedDocument:
    return PublishedDocument(
        lambda: publication.current(list_id),
        content_type="application/statuslist+jwt",
        max_age=MAX_AGE,
        compressed=True,
    )


lists = PublishedFamily(publication.published, _document)
aggregation = PublishedDocument(publication.aggregation, max_age=MAX_AGE)
