from shop.settings import *

INSTALLED_APPS += ["social_django"]
MIDDLEWARE += ["social_django.middleware.SocialAuthExceptionMiddleware"]
AUTHENTICATION_BACKENDS += ["social_core.backends.open_id_connect.OpenIdConnectAuth"]
SOCIAL_AUTH_URL_NAMESPACE = "social"
SOCIAL_AUTH_OIDC_OIDC_ENDPOINT = "{base_url}"
SOCIAL_AUTH_OIDC_KEY = "<client ID>"
SOCIAL_AUTH_OIDC_SECRET = "<client secret>"
SOCIAL_AUTH_OIDC_USERNAME_KEY = "email"
# for ES256
SOCIAL_AUTH_OIDC_JWT_ALGORITHMS = ["ES256"]
# for PKCE
SOCIAL_AUTH_OIDC_USE_PKCE = True
SOCIAL_AUTH_LOGIN_ERROR_URL = "/"
