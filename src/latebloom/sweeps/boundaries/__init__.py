"""Where the runs of a sweep go over from one outcome to the other, found with few of them."""
