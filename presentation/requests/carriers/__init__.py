"""How requests come in: with a browser, in signed objects, or pushed ahead of it."""
