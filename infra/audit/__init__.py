"""The audit record: one line for each action of an operator and each look at personal data.

Lines are only ever appended, and each contains the hash of the line before it (`chain`). Call `record`.
"""

from infra.audit.recording import record

__all__ = ["record"]
