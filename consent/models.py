"""The record of a question to a holder and of the answer."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from consent.question import REPORTED_FOR
from infra.database.append_only import AppendOnly
from infra.models import NumberedRow
from wallet.models import Wallet


class Consent(AppendOnly, NumberedRow):
    """One question to a holder and its answer; append-only; kept longer than the request it belongs to.

    The row is inserted when the holder is asked. Afterwards only these change it:

    * `decisions`, when the holder asks for more time, when the holder answers, when nothing could be shared
      although the holder agreed, and when the requester collects what was shared, or can do so no more;
    * `retention`, which deletes unanswered questions, and erases the content of transactions at the end of
      their retention time;
    * `requesters`, which stores when the holder asked the requester to delete what was shared;
    * `presentation.share_emails`, which takes back `email_due` when it sends the e-mail;
    * `personal_data`, which removes the person when their wallet is closed;
    * `manage.py reseal`, which seals that content with another key, or empties it when its key is lost.

    The row holds what the page showed except the values of claims: the names of the claims, the transactions
    as displayed (sealed, because they name accounts), the requester with its name at that time, and the hash
    of the request for which the answer counts.
    """

    # Sealed columns and the associated data each is bound to: see `transactions` and `keys.sealed_columns`.
    SEALED = {"sealed_transactions": "consent_consent.sealed_transactions:{pk}"}

    class Decision(models.TextChoices):
        ASKED = "asked", _("not answered")
        GRANTED = "granted", _("shared")
        DECLINED = "declined", _("not shared")

    # None once the wallet is closed: the record then says what a requester was told, and not by whom.
    wallet = models.ForeignKey(
        Wallet,
        null=True,
        on_delete=models.PROTECT,
        related_name="consents",
        db_index=False,  # `consent_last_shared_with` begins with it
        editable=False,
    )
    requester_id = models.CharField(_("client ID of the requester"), max_length=100, editable=False)
    requester = models.JSONField(editable=False)  # question.Requester as shown at that time
    claims = models.JSONField(editable=False)  # what was asked: list of claim paths, e.g. [["given_name"]]
    # Those of `claims` that were asked as optional, and those of them that the holder switched on.
    optional_claims = models.JSONField(default=list, db_default=[], editable=False)
    switched_on = models.JSONField(_("optional claims shared"), default=list, db_default=[], editable=False)
    # Whether the request accepted several answers, so that the one it got tells which ones were possible.
    alternatives = models.BooleanField(default=False, db_default=False, editable=False)
    # The claims of which a yes tells something without sharing them, because of the answers that it was not.
    told = models.JSONField(_("told without sharing"), default=list, db_default=[], editable=False)
    # When the requester was registered, and whether by itself; null in rows of releases before 0.2.
    requester_since = models.DateField(_("requester registered"), null=True, editable=False)
    requester_is_unchecked = models.BooleanField(
        _("requester registered itself"), default=False, db_default=False, editable=False
    )
    # Its name and domain for the search, see `question.sought`.
    requester_sought = models.TextField(default="", db_default="", editable=False)
    transactions = models.JSONField(editable=False)  # kind, title and hash of each
    # JSON list of question.Transaction as shown; null if there are none or they were erased.
    sealed_transactions = models.BinaryField(null=True, editable=False)
    # SHA-256 (hex) of the request for which the answer counts.
    request_hash = models.CharField(_("hash of the request"), max_length=64, editable=False)
    return_to = models.CharField(max_length=200, editable=False)  # path of the view that acts on the decision
    decision = models.CharField(
        _("answer"), max_length=8, choices=Decision, default=Decision.ASKED, editable=False
    )
    asked_at = models.DateTimeField(_("asked"), editable=False)
    # How far the time zone of ages was ahead of UTC when it was asked; null in rows of earlier releases: see
    # `days.as_asked`.
    minutes_ahead = models.SmallIntegerField(_("minutes ahead of UTC, for ages"), null=True, editable=False)
    expires_at = models.DateTimeField(_("open until"), editable=False)  # of an unanswered question
    # How far the holder can have `expires_at` moved; null: not at all.
    extendable_until = models.DateTimeField(_("extendable until"), null=True, editable=False)
    decided_at = models.DateTimeField(_("answered"), null=True, editable=False)
    # Where a payment is approved: the holder must have proved a factor at or after this moment.
    fresh_since = models.DateTimeField(null=True, editable=False)
    # The time from which it is known that nothing was shared although the holder agreed. In the future while
    # the requester can collect what was shared: see `decisions.let_collect`.
    undelivered_at = models.DateTimeField(_("found undeliverable"), null=True, editable=False)
    # Whether the holder, who had switched these e-mails on, is to be sent one if the answer is given.
    email_due = models.BooleanField(default=False, db_default=False, editable=False)
    # The last time at which the holder said that they asked the requester to delete what was shared.
    deletion_asked_at = models.DateTimeField(_("deletion asked"), null=True, editable=False)
    # The time at which the content of the transactions was erased, after its retention time.
    erased_at = models.DateTimeField(_("transactions erased"), null=True, editable=False)

    class Meta:
        verbose_name = _("consent")
        verbose_name_plural = _("consents")
        constraints = [
            models.CheckConstraint(
                condition=(Q(decision="asked") & Q(decided_at__isnull=True))
                | (Q(decision__in=["granted", "declined"]) & Q(decided_at__isnull=False)),
                name="consent_decided_once",
            ),
            models.CheckConstraint(
                condition=Q(undelivered_at=None) | Q(decision="granted"),
                name="consent_undelivered_was_granted",
            ),
            models.CheckConstraint(
                condition=Q(erased_at=None) | Q(sealed_transactions=None),
                name="consent_erased_transactions_are_gone",
            ),
        ]
        indexes = [
            models.Index(
                fields=["wallet", "-decided_at", "-id"],
                condition=Q(decided_at__isnull=False),
                name="consent_receipts_in_order",
            ),
            models.Index(fields=["-asked_at"], name="consent_newest_first"),
            models.Index(fields=["wallet", "requester_id", "-decided_at"], name="consent_last_shared_with"),
            models.Index(
                fields=["decided_at"],
                condition=Q(email_due=True, decision="granted"),
                name="consent_share_emails_due",
            ),
            models.Index(
                fields=["expires_at"], condition=Q(decision="asked"), name="consent_unanswered_by_expiry"
            ),
            models.Index(
                fields=["asked_at"],
                condition=Q(sealed_transactions__isnull=False),
                name="consent_transactions_by_age",
            ),
        ]


class Report(AppendOnly, NumberedRow):
    """What a holder reported about a requester. It names no holder and no claim.

    `personal_data` does not find it, because nothing leads from it to a wallet; `retention` deletes it.
    """

    SEALED = {"sealed_text": "consent_report.sealed_text:{pk}"}

    requester_id = models.CharField(_("client ID of the requester"), max_length=100, editable=False)
    reason = models.CharField(_("reason"), max_length=11, choices=REPORTED_FOR, editable=False)
    sealed_text = models.BinaryField(null=True, editable=False)  # what the holder wrote
    reported_at = models.DateTimeField(_("reported"), editable=False)

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")
        indexes = [models.Index(fields=["reported_at"], name="consent_reports_by_age")]
