"""The catalogues of translations: `make texts` extracts the texts anew and compiles them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = ("es",)
