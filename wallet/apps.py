from django.apps import AppConfig


class WalletConfig(AppConfig):
    name = "wallet"
    verbose_name = "Wallets and identity"

    def ready(self) -> None:
        """Registers the system checks."""
        from wallet import checks  # noqa: F401 (registers itself)
