"""Problems that look for a vector."""
