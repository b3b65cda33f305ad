"""Published OpenID Connect products, run against a sandbox as docs/products.md describes them.

`make products` installs each into an environment of its own, starts it with the settings that the page
prints, and plays the person who signs in there.
"""
