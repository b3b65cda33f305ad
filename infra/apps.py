from django.apps import AppConfig


class InfraConfig(AppConfig):
    name = "infra"
    verbose_name = "Infrastructure"
    default_auto_field = "django.db.models.BigAutoField"
