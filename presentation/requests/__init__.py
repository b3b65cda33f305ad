"""One authorization request, from its parameters to the delivery of its answer. The stages in their order:

`parameters` → `carriers` (browser, signed, pushed) → `client` and return address → `authorization_request`
→ `interactions` → `next_step` and the match with the credential → `answers` → `delivery`.

Each stage computes its result once per HTTP request and passes it on.
"""
