"""Names of torch that its documentation does not list, and how this package uses them.

No other folder refers to such names; test_torch_names.py checks that, and each of them
under every release of torch that docs/torch.md lists. Where a release lacks one, the
function here finds out by looking for the name, not by the release's number.
"""
