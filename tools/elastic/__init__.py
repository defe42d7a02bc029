"""A small GPT trainer that changes its parallelism while it runs."""
