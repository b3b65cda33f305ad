"""The smallest Django project that people can sign in to."""
