"""How the admin writes times: everything here is UTC, and says so."""

DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
