"""Who may see the outbox, and send again or drop e-mails. Permission rows are made by hand, as in 0002."""

from django.db import migrations

ROLES = {"Identity review": ("view", "change"), "Audit (read only)": ("view",)}


def allow(apps, schema_editor):
    """Gives the groups, where they exist, the permissions."""
    using = schema_editor.connection.alias
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    content_type, _created = content_types.get_or_create(app_label="infra", model="outgoingemail")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for name, actions in ROLES.items():
        group = apps.get_model("auth", "Group").objects.using(using).filter(name=name).first()
        for action in actions if group else ():
            row, _created = permissions.get_or_create(
                content_type=content_type,
                codename=f"{action}_outgoingemail",
                defaults={"name": f"Can {action} e-mail"},
            )
            group.permissions.add(row)


class Migration(migrations.Migration):
    dependencies = [
        ("presentation", "0010_support_role"),
        ("infra", "0005_outgoing_emails"),
    ]

    operations = [migrations.RunPython(allow, migrations.RunPython.noop)]
