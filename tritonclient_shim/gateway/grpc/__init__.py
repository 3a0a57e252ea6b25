"""The gRPC front: v1's service (docs/v1-behaviour.md §9.2), unary calls and streams."""
