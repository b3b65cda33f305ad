from flask_appbuilder.security.manager import AUTH_OAUTH
from flask_appbuilder.security.sqla.manager import SecurityManager

AUTH_TYPE = AUTH_OAUTH
AUTH_USER_REGISTRATION = True
AUTH_USER_REGISTRATION_ROLE = "Public"
OAUTH_PROVIDERS = [
    {
        "name": "wallet",
        "icon": "fa-id-card",
        "token_key": "access_token",
        "remote_app": {
            "client_id": "<client ID>",
            "client_secret": "<client secret>",
            "server_metadata_url": "{base_url}/.well-known/openid-configuration",
            "client_kwargs": {
                "scope": "openid email profile",
                # for PKCE
                "code_challenge_method": "S256",
            },
        },
    }
]


class WalletSecurityManager(SecurityManager):
    def oauth_user_info(self, provider, response=None):
        claims = self.oauth_remotes[provider].userinfo(token=response)
        names = {"first_name": claims["given_name"], "last_name": claims["family_name"]}
        return {"username": claims["email"], "email": claims["email"], **names, "role_keys": []}
