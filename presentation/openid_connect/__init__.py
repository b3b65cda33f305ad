"""OpenID Connect for relying parties: a translation at the edge.

A request with `response_type=code` becomes the same authorization request as any other (`translation`), and
its answer a code (`requests.wire_formats.codes`), which the relying party exchanges for tokens with the
contents of `contents`.
"""
