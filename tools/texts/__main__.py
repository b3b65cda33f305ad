"""`python -m tools.texts`: writes the catalogues anew; with `--check` it only reports what is wrong."""

import os
import sys

os.environ.setdefault("ENVIRONMENT", "sandbox")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main(check: bool) -> int:
    """Extracts, merges and compiles all catalogues; the exit status is 1 if a text is not translated."""
    import django

    django.setup()
    from tools.texts import LANGUAGES, ROOT, catalogues, extraction
    from tools.texts.faults import faults

    texts, wrong = extraction.texts(), []
    for language in LANGUAGES:
        file = catalogues.path(ROOT, language)
        known = catalogues.read(file, language)
        anew = catalogues.written(catalogues.merged(texts, known, language), language)
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(anew)
            catalogues.path(ROOT, language, "mo").write_bytes(catalogues.compiled(file, language))
        wrong += [f"{language}: {fault}" for fault in faults(texts, catalogues.read(file, language))]
        wrong += [f"{language}: {fault}" for fault in catalogues.outdated(ROOT, language, anew)]
    print("\n".join([*wrong, f"{len(wrong)} faults in the catalogues of {len(texts)} texts."]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
