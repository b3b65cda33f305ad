from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Signing keys"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from keys import checks  # noqa: F401 (registers itself)
