"""psycopg as it is (PEP 249, where Django looks for `connect` and the exceptions), with our connections."""

from psycopg import *  # noqa: F403 - all that Django may look for

from infra.database.hung_database import BoundedConnection

connect = BoundedConnection.connect
