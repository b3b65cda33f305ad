"""Stripe Identity: a document and a selfie, checked on pages of Stripe."""
