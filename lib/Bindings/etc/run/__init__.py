"""`etcrun`: torchrun for jobs that change their size. See docs/etcrun.md."""
