"""The format of times in the admin, which are in UTC and say so."""

DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
