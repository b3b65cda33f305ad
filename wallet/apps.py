from django.apps import AppConfig

from keys.rotation import stakes


class WalletConfig(AppConfig):
    name = "wallet"
    verbose_name = "Wallets and identity"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Its checks are made, and `keys` can ask what a signing key has signed."""
        from wallet import checks  # noqa: F401 (registers itself)
        from wallet.status_lists.standing import signed_by

        stakes.register(signed_by)
