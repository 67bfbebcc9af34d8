"""Where shards are computed: in this process, in others, on other machines."""
