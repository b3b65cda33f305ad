"""The table of scopes."""

import secrets
from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections, models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from presentation.dcql.queries import BASIC
from presentation.scopes.records import LONGEST_TITLE, LONGEST_URN, THE_BASIC_SCOPE, ScopeError, ScopeRecord


class FixedScopeError(Exception):
    """The basic scope was to be changed or removed, or the name of another scope to be changed."""


def new_stamp() -> int:
    """A number for a version of a row. The sum over all rows tells whether any scope has changed."""
    return secrets.randbelow(2**31)


class ScopeQuerySet(models.QuerySet["Scope"]):
    """Refuses what would change scopes in bulk: neither stamps nor the basic scope would be heeded."""

    def update(self, **changes: Any) -> int:
        raise FixedScopeError("Scopes are changed one by one, by `save`.")

    def delete(self) -> Any:
        """Deletes the rows; raises FixedScopeError if the basic scope is among them."""
        if self.filter(urn=BASIC).exists():
            raise FixedScopeError("The basic scope is part of the contract.")
        return super().delete()


class Scope(models.Model):
    """A scope that relying parties may request. Its row is changed by `save` only; the basic one never.

    The URN is the contract with relying parties and does not change once the row is saved.
    """

    urn = models.CharField(
        _("URN"),
        max_length=LONGEST_URN,
        primary_key=True,
        help_text=_(
            "What relying parties send, such as urn:example:scope:address. It cannot be changed later. Its "
            "last part is also the id of the credential query."
        ),
    )
    query_id = models.CharField(_("id of its credential query"), max_length=100, unique=True, editable=False)
    title = models.CharField(
        _("title"), max_length=LONGEST_TITLE, help_text=_("For operators and developers, in a few words.")
    )
    required_claims = models.JSONField(_("required claims"), default=list)
    optional_claims = models.JSONField(_("optional claims"), default=list, blank=True)
    stamp = models.BigIntegerField(default=new_stamp, editable=False)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)

    objects = ScopeQuerySet.as_manager()

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        ordering = ["urn"]
        constraints = [
            models.CheckConstraint(condition=~Q(urn=""), name="presentation_scope_named"),
        ]

    def __str__(self) -> str:
        return self.title

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Saves the scope with a new stamp.

        Raises ScopeError for a scope that breaks a rule, FixedScopeError for the basic one unless it is as in
        the contract.
        """
        record = self.record
        if self.is_fixed and record != THE_BASIC_SCOPE:
            raise FixedScopeError("The basic scope is part of the contract.")
        self.query_id, self.stamp = record.query_id, new_stamp()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Deletes the scope; raises FixedScopeError for the basic one."""
        if self.is_fixed:
            raise FixedScopeError("The basic scope is part of the contract.")
        return super().delete(*args, **kwargs)

    @property
    def record(self) -> ScopeRecord:
        """The scope; raises ScopeError if the row breaks a rule."""
        for part in (self.required_claims, self.optional_claims):
            if not isinstance(part, list):
                raise ScopeError("required_claims", "must be a list")
        return ScopeRecord(self.urn, self.title, tuple(self.required_claims), tuple(self.optional_claims))

    @property
    def is_fixed(self) -> bool:
        """Whether it is the basic scope."""
        return self.urn == BASIC

    def clean(self) -> None:
        """Raises ValidationError, by field, if a rule is broken or another scope has this query id."""
        try:
            record = self.record
        except ScopeError as error:
            raise ValidationError({error.part: str(error)}) from None
        taken = Scope.objects.filter(query_id=record.query_id).exclude(urn=self.urn).first()
        if taken is not None:
            problem = ValidationError(_("%(other)s ends with the same part."), params={"other": taken.urn})
            raise ValidationError({"urn": problem})


def restore_basic(*, using: str, **_signal: Any) -> None:
    """Inserts the row of the basic scope if it is missing, and mends it if it differs.

    A receiver of `post_migrate`: every database has this scope, because it is part of the contract.
    """
    connection = connections[using]
    with connection.cursor() as cursor:
        if Scope._meta.db_table not in connection.introspection.table_names(cursor):
            return  # `migrate` was called for another app
    row = Scope.objects.using(using).filter(urn=BASIC).first()
    with suppress(ScopeError):
        if row is not None and row.record == THE_BASIC_SCOPE:
            return
    basic = THE_BASIC_SCOPE
    claims = {"required_claims": list(basic.required), "optional_claims": list(basic.optional)}
    Scope(urn=basic.urn, title=basic.title, **claims).save(using=using)
