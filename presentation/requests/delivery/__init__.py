"""Delivers answers: by redirect in the fragment, or by posting them to the relying party."""
