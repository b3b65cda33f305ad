"""Four groups of operators, each with what its part of the work needs and nothing else.

Permission rows are made here by hand: Django makes them only after the last migration of a run, so on a
fresh database they do not exist yet. It finds these later and keeps them.
"""

from django.db import migrations

READ = ("view",)

# Group → app → model → actions. Models that hold secrets or traces of browsers are in none.
ROLES = {
    "Relying parties": {
        "presentation": {
            "relyingparty": ("view", "add", "change"),
            "redirecturi": ("view", "add", "change", "delete"),
            "interaction": READ,
        },
    },
    "Identity review": {
        "wallet": {
            "wallet": ("view", "change"),
            "identityverification": ("view", "change"),
            "identityverificationtransition": READ,
            "credential": ("view", "change"),
        },
    },
    "Keys": {
        "keys": {"signingkey": ("view", "change"), "authority": READ},
    },
    "Audit (read only)": {
        "presentation": {"relyingparty": READ, "redirecturi": READ, "interaction": READ},
        "consent": {"consent": READ},
        "wallet": {
            "wallet": READ,
            "identityverification": READ,
            "identityverificationtransition": READ,
            "credential": READ,
        },
        "keys": {"signingkey": READ, "authority": READ},
        "admin": {"logentry": READ},
    },
}


def make_roles(apps, schema_editor):
    """Makes the groups, or gives groups of these names exactly these permissions."""
    using = schema_editor.connection.alias
    group_model = apps.get_model("auth", "Group")
    for name, models_of_apps in ROLES.items():
        group, _created = group_model.objects.using(using).get_or_create(name=name)
        group.permissions.set(
            permission(apps, using, app_label, model_name, action)
            for app_label, models in models_of_apps.items()
            for model_name, actions in models.items()
            for action in actions
        )


def permission(apps, using, app_label, model_name, action):
    """The permission row, as `django.contrib.auth` would make it."""
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    content_type, _created = content_types.get_or_create(app_label=app_label, model=model_name)
    verbose_name = apps.get_model(app_label, model_name)._meta.verbose_name_raw
    row, _created = (
        apps.get_model("auth", "Permission")
        .objects.using(using)
        .get_or_create(
            content_type=content_type,
            codename=f"{action}_{model_name}",
            defaults={"name": f"Can {action} {verbose_name}"},
        )
    )
    return row


class Migration(migrations.Migration):
    dependencies = [
        ("presentation", "0001_release_0_1"),
        ("consent", "0001_release_0_1"),
        ("wallet", "0001_release_0_1"),
        ("keys", "0001_release_0_1"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
