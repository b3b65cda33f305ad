"""Public documents from prepared bytes, and the key set among them."""
