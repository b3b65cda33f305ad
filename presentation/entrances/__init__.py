"""The ways into the presentation flow. `stages` lists, for each entrance, what happens there, in order."""
