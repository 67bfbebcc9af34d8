"""What every room stands on: records, random generators, precision, threads, the bar. Nothing here knows grokking."""
