AUTHENTICATION_SOURCES = ["oauth2"]
OAUTH2_AUTO_CREATE_USER = True
OAUTH2_CONFIG = [
    {
        "OAUTH2_NAME": "wallet",
        "OAUTH2_DISPLAY_NAME": "Wallet",
        "OAUTH2_CLIENT_ID": "<client ID>",
        "OAUTH2_CLIENT_SECRET": "<client secret>",
        "OAUTH2_SERVER_METADATA_URL": "{base_url}/.well-known/openid-configuration",
        "OAUTH2_AUTHORIZATION_URL": "{base_url}/verifiable-credentials/v1/presentation/authorize",
        "OAUTH2_TOKEN_URL": "{base_url}/oauth/v2/token",
        "OAUTH2_API_BASE_URL": "{base_url}/openid-connect/",
        "OAUTH2_USERINFO_ENDPOINT": "userinfo",
        "OAUTH2_SCOPE": "openid email profile",
        "OAUTH2_USERNAME_CLAIM": "email",
        # for PKCE
        "OAUTH2_CHALLENGE_METHOD": "S256",
        # for PKCE
        "OAUTH2_RESPONSE_TYPE": "code",
        "OAUTH2_ICON": "fa-id-card",
        "OAUTH2_BUTTON_COLOR": "#000000",
    }
]
