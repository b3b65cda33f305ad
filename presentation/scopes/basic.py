"""The basic scope, which every database has: it is part of the contract with relying parties."""

from typing import Any

from django.db import connections

from presentation.dcql.queries import BASIC
from presentation.scopes.models import Scope
from presentation.scopes.records import THE_BASIC_SCOPE, ScopeError


def restore(*, using: str, **_: Any) -> None:
    """Inserts its row if it is missing, and mends it if it differs; a receiver of `post_migrate`."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if Scope._meta.db_table not in connection.introspection.table_names(cursor):
            return  # `migrate` was called for another app
    row = Scope.objects.using(using).filter(urn=BASIC).first()
    try:
        if row is not None and row.record == THE_BASIC_SCOPE:
            return
    except ScopeError:
        pass
    basic = THE_BASIC_SCOPE
    claims = {"required_claims": list(basic.required), "optional_claims": list(basic.optional)}
    Scope(urn=basic.urn, title=basic.title, **claims).save(using=using)
