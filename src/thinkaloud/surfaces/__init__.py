"""What people look at; each surface reads entries and views, nothing else."""
