"""The HTTP front: v1's endpoints (docs/v1-behaviour.md §9.1), limits of connections and bodies."""
