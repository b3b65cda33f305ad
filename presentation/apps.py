from django.apps import AppConfig


class PresentationConfig(AppConfig):
    name = "presentation"
    verbose_name = "Presentation"
    default_auto_field = "django.db.models.BigAutoField"
