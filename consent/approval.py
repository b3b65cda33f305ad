"""The heading, the title and the button of a question with payments: they name amount and payee."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from consent.blocks import Money, Payment, Transaction, filled, total

# They keep a name from changing the order of the words around it (Unicode UAX 9 §2.4.2).
_ISOLATE, _END = "\u2068", "\u2069"


@dataclass(frozen=True)
class Approval:
    """What is approved: at least one payment, each with its amount.

    sum: of all payments; None if they are in several currencies.
    """

    payments: tuple[Payment, ...]
    sum: Money | None

    @classmethod
    def of(cls, transactions: Sequence[Transaction]) -> Self | None:
        """None if there is no payment, or one without its facts, as earlier releases stored them."""
        moving = [transaction for transaction in transactions if transaction.consequential]
        payments = tuple(transaction.payment for transaction in moving if transaction.payment)
        if not payments or len(payments) < len(moving):
            return None
        return cls(payments, total(payments))

    @property
    def single(self) -> Payment | None:
        """The payment, if it is the only one."""
        return self.payments[0] if len(self.payments) == 1 else None

    @property
    def heading(self) -> SafeString:
        """The heading as HTML, with a `<bdi>` around everything that is not our text."""
        text, words = self._question()
        return in_html(text, words)

    @property
    def title(self) -> str:
        """The heading as plain text, with isolating characters in the place of `<bdi>`."""
        text, words = self._question()
        return filled(text, {name: f"{_ISOLATE}{word}{_END}" for name, word in words.items()})

    @property
    def button(self) -> SafeString:
        """The text of the button that approves, as HTML."""
        count = len(self.payments)
        if self.sum is None:
            text = ngettext("Approve %(count)s payment", "Approve %(count)s payments", count)
            return in_html(text, {"count": str(count)})
        return in_html(gettext("Approve %(amount)s"), {"amount": str(self.sum)})

    def _question(self) -> tuple[str, dict[str, str]]:
        count = str(len(self.payments))
        if self.single is None:
            if self.sum is None:
                return gettext("Approve %(count)s payments?"), {"count": count}
            text = gettext("Approve %(count)s payments, %(amount)s in total?")
            return text, {"count": count, "amount": str(self.sum)}
        amount = str(self.single)
        if self.single.payee:
            text = gettext("Approve %(amount)s to %(payee)s?")
            return text, {"amount": amount, "payee": " ".join(self.single.payee.split())}
        return gettext("Approve a payment of %(amount)s?"), {"amount": amount}


def in_html(text: str, words: dict[str, str]) -> SafeString:
    """The text as HTML, with each word in its place, escaped and isolated from the text around it.

    The style sheet gives an amount, which must not break, the size at which that many characters fit.
    """
    amount = '<bdi class="unbroken" translate="no" data-length="{1}">{0}</bdi>'
    isolated = {
        name: format_html(amount if name == "amount" else '<bdi translate="no">{0}</bdi>', word, len(word))
        for name, word in words.items()
    }
    return mark_safe(filled(escape(text), isolated))  # noqa: S308 - every part is escaped
