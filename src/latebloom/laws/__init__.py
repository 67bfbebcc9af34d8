"""Laws from many runs, as statistics on numbers: nothing here knows a run."""
