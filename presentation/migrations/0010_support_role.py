"""The permission to look up a holder, and a group of operators that has it and nothing else.

The permission row is made here by hand, because Django makes it only after the last migration of a run.
"""

from django.db import migrations

GROUP = "Support"
CODENAME, NAME = "look_up_holder", "Can look up a holder or a request, with a reason"


def make_role(apps, schema_editor):
    """Makes the group, or gives a group of this name the permission as well."""
    using = schema_editor.connection.alias
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    content_type, _created = content_types.get_or_create(app_label="presentation", model="interaction")
    permission, _created = (
        apps.get_model("auth", "Permission")
        .objects.using(using)
        .get_or_create(content_type=content_type, codename=CODENAME, defaults={"name": NAME})
    )
    group, _created = apps.get_model("auth", "Group").objects.using(using).get_or_create(name=GROUP)
    group.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ('presentation', '0009_figures_of_relying_parties'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='interaction',
            options={'permissions': [(CODENAME, NAME)]},
        ),
        migrations.RunPython(make_role, migrations.RunPython.noop),
    ]
