"""How requests arrive: in the address of a browser, as signed objects, or pushed beforehand."""
