"""Operators sign in with the OpenID provider of their organisation, if there is one (OpenID Connect Core).

The provider says who somebody is and which of its groups they are in; the settings say which role each group
has here. The parts of OpenID Connect are those that identity providers use.
"""
