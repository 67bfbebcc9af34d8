"""From a job to a run: the compiled iteration, the host that feeds it, records, milestones, outcomes."""
