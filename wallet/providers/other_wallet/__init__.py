"""People prove who they are with the PID in another wallet: this service is an OpenID4VP 1.0 verifier.

A PID is the EU's person identification data. Only SD-JWT VCs are taken. The place for PIDs as mdoc
(ISO/IEC 18013-5) is `answers`: see its docstring.
"""
