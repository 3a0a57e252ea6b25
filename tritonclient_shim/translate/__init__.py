"""Pure functions between v1 terms and KServe v2 terms: no I/O, no state, no logging."""
