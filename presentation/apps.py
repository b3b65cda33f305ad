from django.apps import AppConfig


class PresentationConfig(AppConfig):
    name = "presentation"
    verbose_name = "Presentation"
