"""Problems that look for a matrix, however it is parametrised."""
