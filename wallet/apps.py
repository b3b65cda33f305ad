from django.apps import AppConfig

from keys.rotation import stakes


class WalletConfig(AppConfig):
    name = "wallet"
    verbose_name = "Wallets and identity"

    def ready(self) -> None:
        """Registers the system checks, and the function that counts for `keys` what a signing key signed."""
        from wallet import checks  # noqa: F401 (registers itself)
        from wallet.providers.other_wallet import checks as access_checks  # noqa: F401 (likewise)
        from wallet.status_lists.standing import signed_by

        stakes.register(signed_by)
