"""The levels of assurance of eIDAS, and pages that lead to a better check."""

from wallet.credential.evidence import Assurance

EIDAS = {level: Assurance("eidas", level) for level in ("low", "substantial", "high")}


def leads_to_identity(page: str) -> bool:
    """Whether this is the address of the identity check."""
    return page.endswith("/identity/")
