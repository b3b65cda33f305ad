from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PresentationConfig(AppConfig):
    name = "presentation"
    verbose_name = "Presentation"

    def ready(self) -> None:
        """Has every `migrate` bring the basic scope back."""
        from presentation.scopes.models import restore_basic

        post_migrate.connect(restore_basic, sender=self, dispatch_uid="presentation.basic_scope")
