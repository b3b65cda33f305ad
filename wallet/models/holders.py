"""The models of wallets and sign-in."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.models import InternalRow, NumberedRow


class Wallet(NumberedRow):
    """A holder's account, enrolled once it has a `Credential`. Only operators are `auth.User`s."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")

    # In lower case.
    email = models.EmailField(unique=True, editable=False, verbose_name=_("e-mail address"))
    state = models.CharField(max_length=9, choices=State, default=State.ACTIVE, editable=False)
    suspension_reason = models.CharField(
        _("reason for suspension"), max_length=200, blank=True, editable=False
    )
    # Whether the holder is sent an e-mail after each answer.
    share_emails = models.BooleanField(default=False, db_default=False, editable=False)
    # The last language the person used, for e-mails that no page sends; empty until it is known.
    language = models.CharField(max_length=10, default="", db_default="", blank=True, editable=False)
    created_at = models.DateTimeField(_("opened"), editable=False)
    # When the holder answered the offer to add a passkey, which is made once.
    passkey_offered_at = models.DateTimeField(null=True, editable=False)
    # Its holder or an operator closes it: until `closes_at` that can be undone, and nothing is shared. From
    # `closed_at` on the row is nobody's; see `account.closing`.
    closes_at = models.DateTimeField(_("closes"), null=True, editable=False)
    closed_at = models.DateTimeField(_("closed"), null=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["active", "suspended"]), name="wallet_state_known")
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="wallet_newest"),
            models.Index(fields=["id"], condition=Q(state="suspended"), name="wallets_suspended"),
        ]

    @property
    def can_sign_in(self) -> bool:
        """Whether it is neither suspended nor closed; the holder of one about to close can undo that."""
        return self.state == self.State.ACTIVE and self.closed_at is None

    @property
    def can_share(self) -> bool:
        """Whether it is neither suspended nor about to close nor closed."""
        return self.can_sign_in and self.closes_at is None


class Subject(InternalRow):
    """The seed of the number by which one sector recognises the holder of one wallet; see `account.pairwise`.

    A sector is a relying party, or several that an operator has joined; the apps above name it.
    """

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_seed": "wallet_subject.sealed_seed:{pk}"}

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="subjects", editable=False)
    sector = models.CharField(max_length=100, editable=False)
    sealed_seed = models.BinaryField(editable=False)
    created_at = models.DateTimeField(editable=False)

    class Meta(InternalRow.Meta):
        constraints = [models.UniqueConstraint(fields=["sector", "wallet"], name="wallet_one_subject_each")]


class RedirectTask(InternalRow):
    """Why a browser was sent to the wallet, and where it returns to. Its table has an older name.

    The app that redirects the browser creates it. The wallet knows the paths, but not what is behind them.
    It is bound to the browser by the digest of its cookie.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # SHA-256 (hex), see `infra.browser`
    # Of the expected holder, lower case. Where anybody may sign in, of the one who is signing in.
    email = models.EmailField(editable=False)
    # Whether it has no expected holder, because the requester has not named one.
    asks_address = models.BooleanField(default=False, db_default=False, editable=False)
    requester_domain = models.CharField(max_length=253, default="", db_default="", editable=False)
    requester_logo = models.CharField(max_length=200, default="", db_default="", editable=False)  # path here
    # The name to show, such as Acme Bank.
    on_behalf_of = models.CharField(max_length=100, blank=True, editable=False)
    # Names of claims, as in claims.NAMES.
    asks_for = models.JSONField(default=list, db_default=[], editable=False)
    # Where not every verified identity will do: [framework, level] of those that do, the operator's or the
    # request's minimum.
    assurance = models.JSONField(default=list, db_default=[], editable=False)
    # The groups of details that the identity needs besides, see `wallet.credential.details`.
    details = models.JSONField(default=list, db_default=[], editable=False)
    # Path here that leads to where the person can begin again another day; empty if there is no such place.
    begin_again = models.CharField(max_length=200, default="", db_default="", editable=False)
    return_to = models.CharField(max_length=200, editable=False)  # path here, when done
    leave_to = models.CharField(max_length=200, editable=False)  # path here, when the person gives up
    # Whether a holder renews their identity: then only a newer one than this row will do.
    renewal = models.BooleanField(default=False, db_default=False, editable=False)
    fresh_since = models.DateTimeField(null=True, editable=False)  # an older sign-in does not do
    needs_passkey = models.BooleanField(default=False, db_default=False, editable=False)  # a code does not do
    code_sent_at = models.DateTimeField(null=True, editable=False)
    link_until = models.DateTimeField(null=True, editable=False)  # waits for a `LoginLink` in place of a code
    created_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    extendable_until = models.DateTimeField(null=True, editable=False)  # the longest end with more time

    class Meta(InternalRow.Meta):
        db_table = "wallet_errand"
        indexes = [models.Index(fields=["browser", "-created_at"], name="wallet_errands_of_browser")]


class LoginCode(InternalRow):
    """An e-mailed six-digit code, stored as a keyed hash. It works once, for a few tries."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    redirect_task = models.OneToOneField(
        RedirectTask,
        on_delete=models.CASCADE,
        related_name="code",
        editable=False,
        db_column="errand_id",
    )
    digest = models.CharField(max_length=64, editable=False)
    tries_left = models.PositiveSmallIntegerField(editable=False)
    # Whether it was sent on the allowance of a known browser, see `allowances`.
    own_allowance = models.BooleanField(default=False, db_default=False, editable=False)
    sent_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)
    outgoing = models.UUIDField(null=True, editable=False)  # the number of its e-mail in the outbox


class LoginLink(InternalRow):
    """A link e-mailed in place of a code; the hash of its secret is stored. It works once."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    email = models.EmailField(editable=False)  # the recipient, lower case
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)
    outgoing = models.UUIDField(null=True, editable=False)  # the number of its e-mail in the outbox


class KnownBrowser(InternalRow):
    """A browser that has signed in with an e-mail address. The key reveals neither, see `known_browsers`."""

    key = models.CharField(primary_key=True, max_length=64, editable=False)
    # A keyed digest of the address alone, by which the rows of a closed wallet are found; empty in rows of an
    # earlier release.
    address = models.CharField(max_length=64, default="", db_default="", editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)


class HolderSession(InternalRow):
    """A browser in which a holder is signed in. The cookie contains a secret, the row its digest."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="sessions", editable=False)
    # By which the holder signs it out.
    public_id = models.UUIDField(null=True, default=uuid.uuid4, editable=False)
    # From its `User-Agent`, see `sign_in.user_agents`.
    browser_name = models.CharField(max_length=20, default="", db_default="", editable=False)
    system_name = models.CharField(max_length=20, default="", db_default="", editable=False)
    # Its time zone, for times in e-mails; empty if it did not say.
    time_zone = models.CharField(max_length=64, default="", db_default="", editable=False)
    # When this browser signed in to the wallet; None if it has proved no factor again since `signed_in_at`.
    first_signed_in_at = models.DateTimeField(null=True, editable=False)
    signed_in_at = models.DateTimeField(editable=False)  # when the holder last proved a factor
    # Of the one request that was told `signed_in_at` to the second, by which two could tell the same person.
    time_told_for = models.UUIDField(null=True, editable=False)
    by_passkey = models.BooleanField(default=False, db_default=False, editable=False)  # or by a code
    last_seen_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)  # absolute
