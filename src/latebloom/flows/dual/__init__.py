"""The flow of diagonal networks that classify, in as many variables as there are points."""
