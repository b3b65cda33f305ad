"""What this app puts into the download of a holder’s data, and how it erases what it keeps of them."""

from wallet.account import erasing, export

SECTIONS = export.SECTIONS
ERASERS = (erasing.erase_sign_ins, erasing.erase_identity_checks)
