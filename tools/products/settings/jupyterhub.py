c = get_config()

c.JupyterHub.bind_url = "https://shop.example"
c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.client_id = "<client ID>"
c.GenericOAuthenticator.client_secret = "<client secret>"
c.GenericOAuthenticator.oauth_callback_url = "https://shop.example/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = "{base_url}/verifiable-credentials/v1/presentation/authorize"
c.GenericOAuthenticator.token_url = "{base_url}/oauth/v2/token"
c.GenericOAuthenticator.userdata_url = "{base_url}/openid-connect/userinfo"
c.GenericOAuthenticator.scope = ["openid", "profile", "email"]
c.GenericOAuthenticator.username_claim = "email"
c.GenericOAuthenticator.allow_all = True
