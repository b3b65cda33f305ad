"""The scopes that every installation begins with, and who may edit scopes.

Permission rows are made by hand, as in 0002. The basic scope comes back with every `migrate`, see `scopes.basic`;
operators may change or delete the others.
"""

import secrets

from django.db import migrations
from django.utils import timezone

PREFIX = "urn:service:params:scope:verifiable-credentials:"
SHIPPED = (
    ("basic", "Name and age over 18", ["given_name", "family_name", "age_equal_or_over.18"], []),
    ("age-over-18", "Age over 18 and nothing else", ["age_equal_or_over.18"], []),
    ("identity", "Date of birth and nationality", ["birth_date"], ["nationalities"]),
    ("contact", "Verified e-mail address", ["email"], []),
)
ROLES = {"Relying parties": ("view", "add", "change", "delete"), "Audit (read only)": ("view",)}


def add_scopes(apps, schema_editor):
    """Inserts those that are missing."""
    scopes = apps.get_model("presentation", "Scope").objects.using(schema_editor.connection.alias)
    for query_id, title, required, optional in SHIPPED:
        columns = {
            "query_id": query_id,
            "title": title,
            "required_claims": required,
            "optional_claims": optional,
            "stamp": secrets.randbelow(2**31),
            "changed_at": timezone.now(),
        }
        scopes.get_or_create(urn=PREFIX + query_id, defaults=columns)


def remove_scopes(apps, schema_editor):
    """Deletes them; the release before knows only the basic one, without a row."""
    scopes = apps.get_model("presentation", "Scope").objects.using(schema_editor.connection.alias)
    scopes.filter(urn__in=[PREFIX + query_id for query_id, *_ in SHIPPED]).delete()


def allow(apps, schema_editor):
    """Gives the groups, where they exist, the permissions."""
    using = schema_editor.connection.alias
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    content_type, _created = content_types.get_or_create(app_label="presentation", model="scope")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for name, actions in ROLES.items():
        group = apps.get_model("auth", "Group").objects.using(using).filter(name=name).first()
        for action in actions if group else ():
            row, _created = permissions.get_or_create(
                content_type=content_type,
                codename=f"{action}_scope",
                defaults={"name": f"Can {action} scope"},
            )
            group.permissions.add(row)


class Migration(migrations.Migration):
    dependencies = [
        ("presentation", "0004_scopes"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RunPython(add_scopes, remove_scopes),
        migrations.RunPython(allow, migrations.RunPython.noop),
    ]
