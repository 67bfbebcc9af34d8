"""Problems made of other problems: a part that learns faster, a part on its own."""
