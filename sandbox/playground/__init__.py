"""The playground: a relying application in which developers try requests and see answers verified."""
