"""Models for MLServer and KServe. The programs there need numpy, and nothing of ours."""
