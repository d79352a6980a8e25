"""Offline conversion of models into voice bundles; run from the checkout as `python -m convert`, not part of the runtime."""
