"""OpenID Connect for relying parties: a translation at the edge.

A request with `response_type=code` becomes the same authorization request as any other (`translation`), and
its answer a code, which the relying party exchanges for tokens (`codes`, with the contents of `contents`).
"""
