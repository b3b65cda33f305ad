from shop.settings import *

INSTALLED_APPS += ["mozilla_django_oidc"]
AUTHENTICATION_BACKENDS += ["mozilla_django_oidc.auth.OIDCAuthenticationBackend"]
OIDC_RP_CLIENT_ID = "<client ID>"
OIDC_RP_CLIENT_SECRET = "<client secret>"
OIDC_RP_SCOPES = "openid profile email"
OIDC_OP_AUTHORIZATION_ENDPOINT = "{base_url}/verifiable-credentials/v1/presentation/authorize"
OIDC_OP_TOKEN_ENDPOINT = "{base_url}/oauth/v2/token"
OIDC_OP_USER_ENDPOINT = "{base_url}/openid-connect/userinfo"
OIDC_OP_JWKS_ENDPOINT = "{base_url}/openid-connect/jwks"
OIDC_RP_SIGN_ALGO = "ES256"
# for PKCE
OIDC_USE_PKCE = True
